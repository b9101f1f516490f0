package etcdturn

import (
	"log/slog"
	"testing"
	"time"

	"evenkeel.dev/internal/turnsuite"
)

// A busy machine may keep Close from its answer for longer than a second.
func init() { closeTimeout = time.Minute }

// LogTo has Turns without a gate log to l.
func (t *Turns) LogTo(l *slog.Logger) { t.gateLog.Store(l) }

func TestLogIsTheGates(t *testing.T) {
	turns, err := New(Options{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	turnsuite.LogIsTheGates(t, turns, turns.log)
}
