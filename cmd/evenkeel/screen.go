package main

import (
	"fmt"
	"io"
	"strings"
)

// screen shows one text after another: in place of the last one on a terminal, else below it.
type screen struct {
	app   *app
	drawn int // lines of the last one on the terminal
}

// draw shows a text, which ends with a newline.
func (s *screen) draw(text string) error {
	if s.app.view {
		back := ""
		if s.drawn > 0 {
			back = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
		}
		s.drawn = strings.Count(text, "\n")
		text = back + "\x1b[?7l" + text + "\x1b[?7h" // lines that are wider are cut, since the way back is counted in lines
	}
	_, err := io.WriteString(s.app.stdout, text)
	return err
}
