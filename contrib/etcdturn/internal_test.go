package etcdturn

import (
	"log/slog"
	"testing"
	"time"

	"evenkeel.dev/internal/turnsuite"
)

// A busy machine may keep Close from its answer for longer than a second.
func init() { closeTimeout = time.Minute }

func TestLogIsTheGates(t *testing.T) {
	turnsuite.LogIsTheGates(t, func(own *slog.Logger) (turnsuite.Turns, func() *slog.Logger) {
		turns, err := New(Options{Endpoints: []string{"127.0.0.1:1"}, Logger: own})
		if err != nil {
			t.Fatal(err)
		}
		return turns, turns.log
	})
}
