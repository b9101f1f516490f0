package fastc

import "time"

// Divert diverts the function as too much time over its budget would.
func Divert(s *Site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.divert(time.Now())
}
