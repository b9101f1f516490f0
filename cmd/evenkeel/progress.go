package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/internal/report"
	"evenkeel.dev/loadgen"
)

// progress shows where a load stands: a bar that redraws itself on a terminal, else a plain
// line every plainInterval.
type progress struct {
	w        io.Writer
	terminal bool
	label    string
	drawn    int // width of the line on the terminal
	last     time.Duration
}

const (
	plainInterval = 10 * time.Second
	barWidth      = 24
)

// interval is how often loadgen should call.
func (p *progress) interval() time.Duration {
	if p.terminal {
		return 200 * time.Millisecond
	}
	return time.Second
}

// update shows where the load stands.
func (p *progress) update(s loadgen.Progress) {
	text := p.text(s)
	if p.terminal {
		full := int(s.Fraction * barWidth)
		p.draw(fmt.Sprintf("%s[%s%s] %3.0f%%  %s", p.prefix(), strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), s.Fraction*100, text))
		return
	}
	if s.Elapsed < p.last {
		p.last = 0 // the warm-up is over
	}
	if s.Elapsed-p.last >= plainInterval {
		p.last = s.Elapsed
		fmt.Fprintf(p.w, "%s%3.0f%%  %s\n", p.prefix(), s.Fraction*100, text)
	}
}

// say shows a state that has no figures.
func (p *progress) say(format string, a ...any) {
	text := p.prefix() + fmt.Sprintf(format, a...)
	if p.terminal {
		p.draw(text)
		return
	}
	fmt.Fprintln(p.w, text)
}

// clear takes the bar off the terminal.
func (p *progress) clear() {
	if p.terminal && p.drawn > 0 {
		p.draw("")
		fmt.Fprint(p.w, "\r")
		p.drawn = 0
	}
}

func (p *progress) prefix() string {
	if p.label == "" {
		return ""
	}
	return p.label + ": "
}

func (p *progress) text(s loadgen.Progress) string {
	t := fmt.Sprintf("%s requests/s  p50 %s  p99 %s", report.FormatCount(float64(int64(s.Rate))), report.FormatDuration(s.P50), report.FormatDuration(s.P99))
	if s.Failed > 0 {
		t += fmt.Sprintf("  %s failed", report.FormatCount(float64(s.Failed)))
	}
	if s.Warmup {
		t = "warm-up  " + t
	}
	return t
}

func (p *progress) draw(text string) {
	n := len([]rune(text))
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(0, p.drawn-n)))
	p.drawn = n
}
