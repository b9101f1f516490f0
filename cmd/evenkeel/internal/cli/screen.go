package cli

import (
	"fmt"
	"io"
	"strings"
)

// Screen shows one text after another: in place of the last one on a terminal, else below it.
type Screen struct {
	App   *App
	drawn int // lines of the last one on the terminal
}

// Draw shows a text, which ends with a newline.
func (s *Screen) Draw(text string) error {
	if s.App.View {
		back := ""
		if s.drawn > 0 {
			back = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
		}
		s.drawn = strings.Count(text, "\n")
		// lines that are wider are cut, since the way back is counted in lines
		text = back + "\x1b[?7l" + text + "\x1b[?7h"
	}
	_, err := io.WriteString(s.App.Stdout, text)
	return err
}
