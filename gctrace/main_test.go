package gctrace

import (
	"os"
	"testing"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	leaks.Main(m)
}
