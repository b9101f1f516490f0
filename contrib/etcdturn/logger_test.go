package etcdturn

import (
	"log/slog"
	"testing"

	"evenkeel.dev/internal/turnsuite"
)

func TestLogIsTheGates(t *testing.T) {
	turnsuite.LogIsTheGates(t, func(own *slog.Logger) (turnsuite.Turns, func() *slog.Logger) {
		turns, err := New(Options{Endpoints: []string{"127.0.0.1:1"}, Logger: own})
		if err != nil {
			t.Fatal(err)
		}
		return turns, turns.log
	})
}
