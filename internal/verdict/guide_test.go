package verdict

import (
	"os"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// TestGuide: each kind has a row in the guide's table, which says the same of what mends it.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile("../../" + guidePath)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if _, rest, ok := strings.Cut(line, `| <a id="`); ok {
			anchor, row, _ := strings.Cut(rest, `"`)
			rows[anchor] = strings.ReplaceAll(row, "`", "")
		}
	}
	kinds := []kind{syncKind, fileKind, readerKind, libraryKind}
	for _, k := range stopKinds {
		kinds = append(kinds, k)
	}
	for _, k := range kindsByOp {
		kinds = append(kinds, k)
	}
	for _, c := range reqtrace.Causes() {
		if int(c) >= len(kindsByCause) || kindsByCause[c].anchor == "" {
			t.Errorf("%s has no row", c)
			continue
		}
		kinds = append(kinds, kindsByCause[c])
	}
	for _, k := range kinds {
		row, ok := rows[k.anchor]
		if !ok {
			t.Errorf("%s has no row #%s", guidePath, k.anchor)
		} else if !strings.Contains(row, k.mends) {
			t.Errorf("the row #%s does not say %q:\n%s", k.anchor, k.mends, row)
		}
	}
}

// TestKinds: what was asked for decides, where most of a cause's excess has it.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		cause  reqtrace.Cause
		sites  []reqtrace.Blame
		anchor string
	}{
		{reqtrace.CauseLock, nil, "lock"},
		{reqtrace.CauseLock, []reqtrace.Blame{{Op: "RWMutex", Time: 6 * ms}}, "rwmutex"},
		{reqtrace.CauseLock, []reqtrace.Blame{{
			Op: "RWMutex", Holder: "main.report", Writer: "main.refresh",
			Time: 6 * ms,
		}}, "rwmutex-reader"},
		{reqtrace.CauseLock, []reqtrace.Blame{{Op: "RWMutex", Time: 3 * ms}, {Op: "mutex", Time: 4 * ms}}, "lock"},
		{reqtrace.CauseChannel, []reqtrace.Blame{{Op: "connection pool", Time: 8 * ms}}, "pool"},
		{reqtrace.CauseSleep, []reqtrace.Blame{{Op: "rate limiter", Time: 8 * ms}}, "rate-limiter"},
		{
			reqtrace.CauseSleep,
			[]reqtrace.Blame{{Op: "pause before a retry", Inside: "retry.Do", Time: 8 * ms}},
			"retry",
		},
		{reqtrace.CauseSleep, []reqtrace.Blame{{Op: "sleep", Inside: "poll.Wait", Time: 8 * ms}}, "library-sleep"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "fdatasync", Time: 8 * ms}}, "fsync"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "pread", Time: 8 * ms}}, "file"},
		{reqtrace.CauseSyscall, []reqtrace.Blame{{Op: "ioctl", Time: 8 * ms}}, "syscall"},
		{reqtrace.CauseNetwork, []reqtrace.Blame{{Op: "name server", Time: 8 * ms}}, "dns"},
		{reqtrace.CauseCgo, []reqtrace.Blame{{Op: "mutex", Time: 8 * ms}}, "cgo"},
		{reqtrace.CauseRunning, nil, "running"},
	} {
		for i := range tt.sites {
			tt.sites[i].Cause = tt.cause
		}
		r := fakeReport(partsOf(times{}), partsOf(times{tt.cause: 10 * time.Millisecond}), tt.sites...)
		if got, want := Of(r).Causes[0].Guide, guidePath+"#"+tt.anchor; got != want {
			t.Errorf("%s %v: %s, want %s", tt.cause, tt.sites, got, want)
		}
	}
}
