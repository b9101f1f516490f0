package cli

import (
	"fmt"
	"io"
	"strings"
)

// Screen shows texts. On a terminal each replaces the one before.
type Screen struct {
	App   *App
	drawn int // lines of the last one on the terminal
}

// Draw shows a text that ends with a newline.
func (s *Screen) Draw(text string) error {
	if s.App.View {
		back := s.back()
		s.drawn = strings.Count(text, "\n")
		// Wider lines are cut, because the way back is counted in lines.
		text = back + "\x1b[?7l" + text + "\x1b[?7h"
	}
	_, err := io.WriteString(s.App.Stdout, text)
	return err
}

// Erase removes the last text from the terminal.
func (s *Screen) Erase() {
	fmt.Fprint(s.App.Stdout, s.back())
	s.drawn = 0
}

func (s *Screen) back() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
}
