package history

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// killedIn in the environment has the test binary be a service that adds to a history until it is killed.
const killedIn = "EVENKEEL_TEST_HISTORY_DIR"

const batchSize = 20

// writeUntilKilled adds batches, and says of each that it is on the disk. The file is so small that
// it is written anew all the time.
func writeUntilKilled(dir string) {
	s := Open(Options{Dir: dir, maxBytes: 1 << 20, Build: "v1"})
	if err := s.Err(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	for batch := 0; ; batch++ {
		for i := range batchSize {
			k := lockKey
			k.Function, k.Class = fmt.Sprint("main.f", i%10), strings.Repeat("x", maxText)
			s.addOne(slow(batch*batchSize+i, night, k, 10*ms))
			s.Count(night, "GET /", Count{Slow: 1})
		}
		if err := s.flush(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println("flushed")
	}
}

// TestKilled kills a service time and again, a hundred times in make check, at any moment. After
// each its history is readable, has all that was flushed, and of what was not no more than the last
// batch; the next process goes on with it.
func TestKilled(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	kills := 15
	if testutil.Checking() {
		kills = 100
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	had, cut := uint64(0), 0
	for kill := range kills {
		flushed := killed(t, dir, 1+r.IntN(8), time.Duration(r.IntN(4000))*time.Microsecond)
		b, err := os.ReadFile(filepath.Join(dir, logName))
		if err != nil {
			t.Fatal(err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 3 {
			// with the lock, and a new file of this kill alone
			t.Fatalf("kill %d: %v in the folder, %v", kill+1, list, err)
		}
		h, good, lost, err := ReadLog(b)
		if err != nil || lost > 1 || lost == 1 && good == len(b) {
			t.Fatalf("kill %d: %v, %d lines lost, %d bytes of %d are whole", kill+1, err, lost, good, len(b))
		}
		cut += lost
		c := h.Coverage(time.Time{})
		least := had + uint64(flushed*batchSize)
		if c.Seen < least || c.Seen > least+batchSize || c.Slow != c.Seen {
			t.Fatalf("kill %d: %v; before it there were %d, and %d were flushed", kill+1, c, had, flushed*batchSize)
		}
		had = c.Seen
	}
	t.Logf("%d requests after %d kills, of which %d cut a line off", had, kills, cut)
}

// killed has a service write until it has flushed so many batches, and kills it a moment later. It
// returns how many it has flushed.
func killed(t *testing.T, dir string, batches int, then time.Duration) (flushed int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedIn+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if sc.Text() != "flushed" {
			t.Errorf("it says %q", sc.Text())
			_ = cmd.Process.Kill()
		}
		if flushed++; flushed == batches {
			kill.Reset(then)
		}
	}
	kill.Stop()
	_ = cmd.Wait() // killed
	return flushed
}
