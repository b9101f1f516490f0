package history

import (
	"os"
	"testing"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedIn); dir != "" {
		writeUntilKilled(dir) // it does not return
	}
	leaks.Main(m)
}
