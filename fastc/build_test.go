//go:build linux

package fastc_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// limit is what one build or one program of the matrix may take.
const limit = 5 * time.Minute

// report is what a program of testdata says about itself: check.Report.
type report struct {
	Available bool
	Source    string
	Wrong     []string
}

// needCheck skips what takes minutes from cold caches: make check runs it.
func needCheck(t *testing.T) {
	t.Helper()
	testutil.Long(t, "compiles the standard library again")
}

// needTools skips the test when a tool is missing, and says where it comes from.
func needTools(t *testing.T, tools ...string) {
	t.Helper()
	packages := map[string]string{
		"go": "Go", "strip": "binutils",
		"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "qemu-aarch64": "qemu-user",
		"powerpc64le-linux-gnu-gcc": "gcc-powerpc64le-linux-gnu", "qemu-ppc64le": "qemu-user",
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			from := packages[tool]
			if from == "" {
				from = tool
			}
			t.Skipf("needs %s: install %s", tool, from)
		}
	}
}

// command runs a command in the package's directory, with env and without FASTC, and returns
// what it wrote: stdout, and stderr too when it fails, which fails the test.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(append(os.Environ(), "FASTC="), env...)
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(limit, func() { _ = cmd.Cancel() })
	defer timer.Stop()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s %s: %v\n%s%s", strings.Join(env, " "), name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// wantReport runs a program of testdata and compares what it says.
func wantReport(t *testing.T, source string, env []string, name string, args ...string) {
	t.Helper()
	var got report
	out := command(t, env, name, args...)
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	t.Log(got.Source)
	if len(got.Wrong) > 0 {
		t.Error(strings.Join(got.Wrong, "\n"))
	}
	if !regexp.MustCompile(`^` + source + `$`).MatchString(got.Source) {
		t.Errorf("Source is %q, want %s", got.Source, source)
	}
	if short := strings.HasPrefix(got.Source, "runtime.asmcgocall,"); got.Available != short {
		t.Errorf("Available is %v, though Source is %q", got.Available, got.Source)
	}
}

// readTestdata opens the programs, so that go test does not reuse a result when they change.
func readTestdata(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
