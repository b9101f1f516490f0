package load

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// Progress shows a bar on a terminal, else a line every plainInterval.
type Progress struct {
	w        io.Writer
	terminal bool
	label    string
	last     time.Duration

	warmup, duration time.Duration // of the load
	timeout, drain   time.Duration

	mu      sync.Mutex // guards all below, w and last
	bar     string     // "": none
	warm    bool
	awaited bool
}

// NewProgress uses a's standard error.
func NewProgress(a *cli.App, label string) *Progress {
	return &Progress{w: a.Stderr, terminal: a.Terminal, label: label}
}

func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == "" {
		return p.w.Write(b)
	}
	fmt.Fprint(p.w, eraseLine)
	n, err := p.w.Write(b)
	if bytes.HasSuffix(b, []byte("\n")) {
		p.draw(p.bar)
	} else {
		p.bar = ""
	}
	return n, err
}

const (
	plainInterval = 10 * time.Second
	barWidth      = 24

	overtime = 200 * time.Millisecond

	// A wider line is cut, because \r goes back one line only.
	barLine   = "\r\x1b[?7l%s\x1b[K\x1b[?7h"
	eraseLine = "\r\x1b[K"
)

func (p *Progress) update(s loadgen.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text(s)
	planned := p.duration
	if s.Warmup {
		planned = p.warmup
	}
	late := planned > 0 && s.Elapsed >= planned+overtime && s.InFlight > 0
	switch {
	case p.terminal && late:
		p.draw(p.prefix() + p.awaiting(s))
		return
	case p.terminal:
		full := int(s.Fraction * barWidth)
		p.draw(fmt.Sprintf("%s[%s%s] %3.0f%%  %s", p.prefix(), strings.Repeat("=", full),
			strings.Repeat(" ", barWidth-full), s.Fraction*100, text))
		return
	}
	if p.warm != s.Warmup {
		p.warm, p.last, p.awaited = s.Warmup, 0, false
	}
	if late && !p.awaited {
		p.awaited = true
		fmt.Fprintf(p.w, "%s%v are over; %s\n", p.prefix(), planned, p.awaiting(s))
	}
	if s.Elapsed-p.last >= plainInterval {
		p.last = s.Elapsed
		fmt.Fprintf(p.w, "%s%3.0f%%  %s\n", p.prefix(), s.Fraction*100, text)
	}
}

func (p *Progress) awaiting(s loadgen.Progress) string {
	answers, backlog := "1 answer that is", ""
	if s.InFlight != 1 {
		answers = textfmt.Count(float64(s.InFlight)) + " answers that are"
	}
	if s.Backlog > 0 {
		backlog = fmt.Sprintf(", and up to %v to send %s more", p.drain, textfmt.Count(float64(s.Backlog)))
	}
	return fmt.Sprintf("waiting up to %v (-t) for %s still out%s; Ctrl-C ends now", p.timeout, answers, backlog)
}

func (p *Progress) Say(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.prefix() + fmt.Sprintf(format, a...)
	if p.terminal {
		p.draw(text)
		return
	}
	fmt.Fprintln(p.w, text)
}

func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != "" {
		fmt.Fprint(p.w, eraseLine)
		p.bar = ""
	}
}

func (p *Progress) prefix() string {
	if p.label == "" {
		return ""
	}
	return p.label + ": "
}

func (p *Progress) text(s loadgen.Progress) string {
	t := fmt.Sprintf("%s requests/s  p50 %s  p99 %s", textfmt.Count(float64(int64(s.Rate))), textfmt.Duration(s.P50),
		textfmt.Duration(s.P99))
	if s.Failed > 0 {
		t += fmt.Sprintf("  %s failed", textfmt.Count(float64(s.Failed)))
	}
	if s.Warmup {
		t = "warm-up  " + t
	}
	return t
}

func (p *Progress) draw(text string) {
	fmt.Fprintf(p.w, barLine, text)
	p.bar = text
}

func (p *Progress) Run(ctx context.Context, o loadgen.Options) (*loadgen.Result, error) {
	o.OnProgress, o.ProgressInterval = p.update, time.Second
	if p.terminal {
		o.ProgressInterval = 200 * time.Millisecond
	}
	p.warmup, p.duration, p.timeout, p.drain = o.Warmup, loadDuration(&o), o.Timeout, cmp.Or(o.Drain, o.Timeout)
	defer p.Clear()
	return Run(ctx, o)
}

func Run(ctx context.Context, o loadgen.Options) (*loadgen.Result, error) {
	if o.Open() && os.Getenv("GOMAXPROCS") == "" {
		// The pacer's thread holds a P while it sleeps.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	}
	return loadgen.Run(ctx, o)
}
