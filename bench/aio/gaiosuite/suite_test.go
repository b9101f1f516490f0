package gaiosuite

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// conns is how many connections a test has in this process, both ends of each. Others have few.
var conns = map[string]int{
	"Test4k": 4096, "Test4kTiny": 4096, "Test8k": 8192, "Test10k": 10240, "Test12k": 12288, "TestDeadline4k": 4096,
	"TestDeadline8k":          8192,
	"Test10kRandomSwapBuffer": 10240, "Test10kCompleteSwapBuffer": 10240,
}

// patience bounds one test of gaio's: only a hang meets it.
const patience = 3 * time.Minute

// TestSuite runs gaio's own tests over aio/gaio, on each backend, with the default swap buffer.
// GAIOSUITE_ROUNDS=5 runs them five times, and with one of 16 MiB too; GAIOSUITE_RUN=Test1k runs
// that test alone.
func TestSuite(t *testing.T) {
	binary := build(t)
	rounds, swaps := 1, []int{64 << 10}
	if s := os.Getenv("GAIOSUITE_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil || rounds < 1 {
			t.Fatalf("GAIOSUITE_ROUNDS: %q is no number of rounds", s)
		}
		swaps = append(swaps, 16<<20)
	}
	out, err := exec.CommandContext(t.Context(), binary, "-test.list", "^Test").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := strings.Fields(string(out))
	if len(tests) < 30 {
		t.Fatalf("%d tests: gaio has more", len(tests))
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	failed := map[string]int{}
	for _, backend := range []string{"epoll", "io_uring"} {
		for _, swap := range swaps {
			for round := range rounds {
				for _, test := range tests {
					if run := os.Getenv("GAIOSUITE_RUN"); run != "" && test != run {
						continue
					}
					t.Run(fmt.Sprintf("%s/swap=%d/round=%d/%s", backend, swap, round, test), func(t *testing.T) {
						if need := uint64(2*conns[test] + 200); need > limit.Max {
							t.Skipf("needs a limit of %d descriptors, which is %d", need, limit.Max)
						}
						said := one(t, binary, test, backend, swap)
						for range 4 { // it gives the collector a second, and not until it has run
							if said == "" || test != "TestGC" {
								break
							}
							said = one(t, binary, test, backend, swap)
						}
						if said != "" {
							failed[test]++
							t.Error(said)
						}
					})
				}
			}
		}
	}
	for test, n := range failed {
		t.Logf("%s failed %d of %d times", test, n, 2*len(swaps)*rounds)
	}
}

// one runs one test of gaio's in a process of its own, and returns what is wrong with it.
func one(t *testing.T, binary, test, backend string, swap int) string {
	c := exec.CommandContext(t.Context(), binary, "-test.run=^"+test+"$", "-test.timeout="+patience.String())
	c.Env = append(os.Environ(), backendEnv+"="+backend, fmt.Sprint(swapEnv, "=", swap))
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "io_uring is not available here") {
		t.Skip("needs io_uring")
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%v\n%s", err, out[max(0, len(out)-4000):])
}

// build builds gaio's tests as this package's: an overlay puts them in place of this file.
func build(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/xtaci/gaio").Output()
	if err != nil {
		t.Fatal("where gaio is:", err)
	}
	replace := map[string]string{filepath.Join(here, "suite_test.go"): ""}
	for _, name := range []string{"aio_test.go", "affinity_test.go"} { // time_test.go is about its inside
		replace[filepath.Join(here, "gaios_"+name)] = copyAs(t, filepath.Join(strings.TrimSpace(string(dir)), name))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	file := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(tmp, "suite.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay="+file, "-o", binary,
		".").CombinedOutput(); err != nil {
		t.Fatalf("building gaio's tests: %v\n%s", err, out)
	}
	return binary
}

// copyAs copies a test of gaio's, for this test's time, as one of this package.
func copyAs(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Replace(string(text), "\npackage gaio\n", "\npackage gaiosuite\n", 1)
	out := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(out, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}
