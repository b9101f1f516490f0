package proc

import (
	"os"
	"testing"

	"evenkeel.dev/internal/leaks"
)

// childEnv has the test binary act as a program of that name instead of running tests.
const childEnv = "EVENKEEL_PROC_CHILD"

var children = map[string]func(){}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		child()
		return
	}
	leaks.Main(m)
}
