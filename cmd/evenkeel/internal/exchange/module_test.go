package exchange

import (
	"os/exec"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// hdrModule is the folder of HdrHistogram's Go library, with its test data.
func hdrModule(t *testing.T) string {
	t.Helper()
	testutil.Slow(t, "runs the go command")
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/HdrHistogram/hdrhistogram-go").Output()
	if err != nil {
		t.Skipf("needs the go command to find the module's folder: %v", err)
	}
	return strings.TrimSpace(string(out))
}
