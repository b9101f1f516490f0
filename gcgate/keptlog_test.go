package gcgate

import (
	"log/slog"
	"strings"
	"testing"
)

// TestWarningsAreKept whatever the level of the program's own log, each message once.
func TestWarningsAreKept(t *testing.T) {
	var out logBuffer
	kept := &keptLog{}
	inner := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})
	log := slog.New(&keepingHandler{Handler: inner, kept: kept})
	for _, m := range []string{"a", "b", "c", "d", "e", "f", "b"} {
		log.With("signal", "health check").WithGroup("g").Warn(m, "error", errPeer, "n", len(kept.warnings()))
	}
	log.Info("nothing")
	log.Error("loud", "long", strings.Repeat("x", 2000))
	var got []string
	for _, w := range kept.warnings() {
		got = append(got, w.Text[:1])
		if w.Time.IsZero() || len(w.Text) > maxWarningText {
			t.Errorf("%v: %d bytes", w.Time, len(w.Text))
		}
	}
	if s := strings.Join(got, ""); s != "defbl" {
		t.Errorf("kept %q", s)
	}
	want := `b signal="health check" error="no such peer" n=5`
	if w := kept.warnings()[3]; w.Text != want {
		t.Errorf("got %s, want %s", w.Text, want)
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "loud") {
		t.Errorf("the program's log has\n%s", text)
	}
}
