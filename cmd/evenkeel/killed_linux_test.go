package main

import "testing"

// TestRunKilled has evenkeel die without a chance to stop its server.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := start(t, s.args("-z 60s", "-ignore-term", "-say-at", "20")...)
	until(t, "it loads", func() bool { return c.stderr.has("request 20") })
	_ = c.cmd.Process.Kill()
	c.wait()
	s.gone(1)
}
