package load

import (
	"bytes"
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

	mu   sync.Mutex // guards all below, w and last
	bar  string     // "": none
	warm bool
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

	// A wider line is cut, because \r goes back one line only.
	barLine   = "\r\x1b[?7l%s\x1b[K\x1b[?7h"
	eraseLine = "\r\x1b[K"
)

func (p *Progress) update(s loadgen.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text(s)
	if p.terminal {
		full := int(s.Fraction * barWidth)
		p.draw(fmt.Sprintf("%s[%s%s] %3.0f%%  %s", p.prefix(), strings.Repeat("=", full),
			strings.Repeat(" ", barWidth-full), s.Fraction*100, text))
		return
	}
	if p.warm != s.Warmup {
		p.warm, p.last = s.Warmup, 0
	}
	if s.Elapsed-p.last >= plainInterval {
		p.last = s.Elapsed
		fmt.Fprintf(p.w, "%s%3.0f%%  %s\n", p.prefix(), s.Fraction*100, text)
	}
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
	if s.Fraction == 1 && s.InFlight > 0 {
		t += "  waiting for " + textfmt.Plural(int(s.InFlight), "answer") + " (-t)"
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
