package gcgate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxWarnings    = 5
	maxWarningText = 1000
)

// A Warning is what a gate has logged at Warn or above.
type Warning struct {
	Time time.Time
	Text string // message and attributes, 1,000 bytes at most
}

// keptLog remembers the last warnings, each message once. Any goroutine may use it.
type keptLog struct {
	mu   sync.Mutex    // guards what follows
	list []keptWarning // the newest is the last
}

type keptWarning struct {
	message string
	Warning
}

func (k *keptLog) add(message string, w Warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(old keptWarning) bool { return old.message == message })
	if len(k.list) == maxWarnings {
		k.list = slices.Delete(k.list, 0, 1)
	}
	k.list = append(k.list, keptWarning{message, w})
}

func (k *keptLog) warnings() (list []Warning) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.list {
		list = append(list, w.Warning)
	}
	return list
}

type keepingHandler struct {
	slog.Handler
	kept  *keptLog
	attrs string
}

func (h *keepingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

func (h *keepingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := strings.Builder{}
		text.WriteString(r.Message)
		text.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			text.WriteString(attrText(a))
			return text.Len() < maxWarningText
		})
		short := strings.ToValidUTF8(text.String()[:min(text.Len(), maxWarningText)], "")
		h.kept.add(r.Message, Warning{r.Time, short})
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *keepingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	text := h.attrs
	for _, a := range attrs {
		text += attrText(a)
	}
	return &keepingHandler{h.Handler.WithAttrs(attrs), h.kept, text}
}

func (h *keepingHandler) WithGroup(name string) slog.Handler {
	return &keepingHandler{h.Handler.WithGroup(name), h.kept, h.attrs}
}

func attrText(a slog.Attr) string {
	value := a.Value.Resolve().String()
	if strings.ContainsAny(value, " \t\n") {
		return fmt.Sprintf(" %s=%q", a.Key, value)
	}
	return fmt.Sprintf(" %s=%s", a.Key, value)
}
