package recorder

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// askPage returns what the recorder answers below its page.
func askPage(t *testing.T, r *Recorder, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "http://shop:6060/debug/evenkeel/"+path, nil))
	return w.Code, w.Body.String()
}

// listOf returns the snapshots that the recorder lists.
func listOf(t *testing.T, r *Recorder) (list []string) {
	t.Helper()
	if _, body := askPage(t, r, "snapshots"); json.Unmarshal([]byte(body), &list) != nil {
		t.Fatal(body)
	}
	return list
}

// TestKeeps tests that by default a recorder analyses nothing, keeps the newest snapshots and
// serves them, and that each slow request is accounted for.
func TestKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 1e4) }
		f.low.Store(true) // too little for an analysis
		r := beginKeeping(t, f, Options{CPU: 1})
		const snapshots = maxTemporary + 10
		for range snapshots {
			slowRequest(r, "GET /")
			slowRequest(r, "GET /other")
			time.Sleep(20 * time.Second)
		}
		list := listOf(t, r)
		if len(list) > maxTemporary || len(list) < 2 {
			t.Fatalf("%d snapshots are kept", len(list))
		}
		sum, newestBytes := int64(0), 0
		for i, id := range list {
			if i > 0 && !history.TakenAt(id).After(history.TakenAt(list[i-1])) {
				t.Errorf("%s after %s", id, list[i-1])
			}
			_, body := askPage(t, r, "snapshot/"+id)
			newestBytes = len(body)
			sum += int64(newestBytes)
		}
		if sum > mostTogether || len(list) < maxTemporary && sum < mostTogether*3/4 {
			t.Errorf("%d snapshots of %d bytes together", len(list), sum)
		}
		newest := list[len(list)-1]
		var h history.Head
		last := history.Noted{Number: 2 * snapshots, Class: "GET /other"}
		_, body := askPage(t, r, "snapshot/"+newest+".json")
		if json.Unmarshal([]byte(body), &h) != nil || h.Threshold != 50*time.Millisecond ||
			len(h.Noted) != 2 || h.Noted[1] != last || h.Snapshot != newest || !h.Taken.Equal(history.TakenAt(newest)) {
			t.Errorf("%+v: %s", h, body)
		}
		if newestBytes < mostTogether/maxTemporary/4 {
			t.Errorf("the newest has %d bytes", newestBytes)
		}
		_, page := askPage(t, r, "")
		for _, want := range []string{
			"148 requests were slow; all of them in snapshots", "evenkeel report http://shop:6060/debug/evenkeel/<",
			fmt.Sprintf("%d snapshots kept", len(list)),
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q:\n%s", want, page)
			}
		}
		if strings.Contains(page, "causes-title") {
			t.Error("the page has a list of causes")
		}
		if s := r.Stats(); s.Kept != 2*snapshots || s.Analyzed != 0 || len(f.jobs) != 0 || s.Cost.Analysis != 0 {
			t.Errorf("%+v", s)
		}
		end(t, r)
		if c := coverage(r); c.Kept != 2*snapshots || c.Slow != c.Kept {
			t.Errorf("%+v", c)
		}
		if status, _ := askPage(t, r, "snapshot/"+newest); status != 404 {
			t.Errorf("a snapshot of a recorder that has ended: %d", status)
		}
	})
}

// TestKeepsInDir tests that snapshots outlive the process with what their analysis needs, that both
// go together.
func TestKeepsInDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dir := newFake(), t.TempDir()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 5e3) }
		o := Options{Dir: dir, CPU: 1, KeepBytes: 1 << 20}
		r := beginKeeping(t, f, o)
		slow := func(n int) {
			for range n {
				slowRequest(r, "GET /")
				time.Sleep(12 * time.Second)
			}
		}
		slow(3)
		end(t, r)
		r = beginKeeping(t, f, o)
		list := listOf(t, r)
		if len(list) < 3 {
			t.Fatalf("after a restart: %+v", list)
		}
		slow(10)
		if status, _ := askPage(t, r, "snapshot/"+list[1]+".json"); status != 404 {
			t.Errorf("the head of a snapshot that is gone: %d", status)
		}
		there, sum := r.files.list()
		left, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
		if err != nil || len(left) != 2*len(there) || sum > o.KeepBytes {
			t.Errorf("%d files of %d snapshots, %d bytes, %v", len(left), len(there), sum, err)
		}
		end(t, r)
	})
}

// TestKeepsNothing tests that slow requests count as failed when their snapshot cannot be kept.
func TestKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dir := newFake(), t.TempDir()
		r := beginKeeping(t, f, Options{Dir: dir, CPU: 1})
		if err := os.WriteFile(filepath.Join(dir, "snapshots"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		slowRequest(r, "GET /")
		time.Sleep(20 * time.Second)
		end(t, r)
		if c := coverage(r); c.Failed != 1 || c.Kept != 0 || c.Slow != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// TestKeepsAtMinute tests that an analysis finds the kept requests of a snapshot that was still being
// written when a minute ended.
func TestKeepsAtMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hangs = make(chan bool)
		r := beginKeeping(t, f, Options{CPU: 1})
		slowRequest(r, "GET /")
		time.Sleep(2 * settle) // the snapshot is under way
		f.set.Store(int64(time.Minute))
		close(f.hangs)
		time.Sleep(time.Second)
		var h history.Head
		_, body := askPage(t, r, "snapshot/"+listOf(t, r)[0]+".json")
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			t.Fatal(err)
		}
		found := history.Open(history.Options{})
		found.AddKept(&h, &history.Explained{Slow: []history.Request{seen(1, reqtrace.CauseLock)}})
		all := r.store.Snapshot()
		all.AddFound(found.Snapshot())
		if c := all.Coverage(time.Time{}); c.Slow != 1 || c.Seen != 1 || c.Kept != 0 {
			t.Errorf("%+v", c)
		}
		end(t, r)
	})
}
