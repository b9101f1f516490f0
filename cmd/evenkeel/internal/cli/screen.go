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
		back := s.back()
		s.drawn = strings.Count(text, "\n")
		// lines that are wider are cut, since the way back is counted in lines
		text = back + "\x1b[?7l" + text + "\x1b[?7h"
	}
	_, err := io.WriteString(s.App.Stdout, text)
	return err
}

// Erase takes the last text off the terminal.
func (s *Screen) Erase() {
	fmt.Fprint(s.App.Stdout, s.back())
	s.drawn = 0
}

// back goes to where the last text began, and clears what is below.
func (s *Screen) back() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
}
