package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/reqtrace"
)

// knownHistory is that of the golden files.
func knownHistory() *History {
	h := &History{}
	h.addSource("0123456789abcdef")
	h.addWatched("v1", night.Add(-40*time.Minute), 4*time.Hour+20*time.Minute, 3*time.Hour)
	h.built("v2", night.Add(-40*time.Minute))
	id := 0
	add := func(n int, k Key, from, every, lost time.Duration, build string) {
		for i := range n {
			id++
			r := slow(id, night.Add(from+time.Duration(i)*every), k, lost+time.Duration(i%7)*ms)
			r.Build, r.Snapshot, r.Breakdown = build, "20261122-0300.trace", "90% "+k.Cause.String()
			if k == lockKey {
				r.Words, r.HolderPlace = "waiting for a mutex that main.refresh (main.go:43) holds while sleeping, "+
					"in main.get (main.go:33)", "main.refresh (main.go:40)"
				r.TraceID = "4bf92f3577b34da6a3ce929d0e0e4736"
			}
			h.addOnce(r)
			h.count(r.Start, k.Class, Count{Slow: 1})
		}
	}
	add(120, lockKey, -4*time.Hour, 2*time.Minute, 62*ms, "v1")
	add(12, sleepKey, -3*time.Hour, 15*time.Minute, 51*ms, "v1")
	add(60, runKey, -30*time.Minute, 30*time.Second, 75*ms, "v2")
	add(3, Key{Cause: reqtrace.CauseMachine, Class: "GET /orders"}, -90*time.Minute, time.Second, 300*ms, "v1")
	h.count(night.Add(-time.Hour), "GET /orders", Count{Slow: 9, Limited: 6, Off: 2, Failed: 1})
	h.addUsual(night.Add(-time.Hour),
		Usual{"GET /orders": {20, partsOf(times{reqtrace.CauseRunning: 40 * ms})}})
	return h
}

func TestJSON(t *testing.T) {
	golden.Written(t, "history.json", func(b *bytes.Buffer) error {
		e := json.NewEncoder(b)
		e.SetIndent("", " ")
		return e.Encode(knownHistory())
	})
	for seed := range uint64(20) {
		r, h, back := rand.New(rand.NewPCG(2, seed)), &History{}, &History{}
		for range 200 {
			act(r, h)
		}
		h.addSource("x")
		if err := json.Unmarshal([]byte(text(t, h)), back); err != nil {
			t.Fatal(err)
		}
		if text(t, back) != text(t, h) {
			t.Fatalf("%s\nis read as\n%s", text(t, h), text(t, back))
		}
	}
}

// TestLaterJSON: of a later release, other fields and causes are no obstacle; another version is, and says what to do.
func TestLaterJSON(t *testing.T) {
	h := knownHistory()
	later := strings.NewReplacer(`"cause":"lock"`, `"cause":"telepathy","colour":"red"`, `"running":40000000`,
		`"telepathy":40000000`).Replace(text(t, h))
	var back History
	if err := json.Unmarshal([]byte(later), &back); err != nil {
		t.Fatal(err)
	}
	want := lockKey
	want.Cause = reqtrace.CauseUnknown
	if s := back.Summaries(time.Time{})[0]; s.Key != want || s.Requests != 120 {
		t.Errorf("%+v", s)
	}
	if u := back.usual()["GET /orders"]; u.Parts.Of(reqtrace.CauseUnknown) != 40*ms {
		t.Errorf("%+v", u)
	}
	err := json.Unmarshal([]byte(`{"version":2}`), &back)
	if !errors.Is(err, errVersion) {
		t.Errorf("%v", err)
	}
}

func TestBadJSON(t *testing.T) {
	good := text(t, knownHistory())
	for name, tt := range map[string]struct{ old, new, want string }{
		"no version":    {`"version":1`, `"version":0`, `no "version"`},
		"another thing": {`"hours":[`, `"hours":[7,`, "not the JSON of a history"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &History{}
			h.addOnce(slow(1, night, lockKey, ms))
			before := text(t, h)
			err := json.Unmarshal([]byte(strings.Replace(good, tt.old, tt.new, 1)), h)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			if text(t, h) != before {
				t.Error("what failed has changed it")
			}
		})
	}
}

// TestImpossibleJSON tests that figures that cannot be are read as others that can, and that these are
// written and read again as the same.
func TestImpossibleJSON(t *testing.T) {
	good := text(t, knownHistory())
	for name, tt := range map[string]struct{ old, new string }{
		"no hour":             {`"start":"2026-11-21T23:00:00Z"`, `"start":"2026-11-21T23:07:00Z"`},
		"twice":               {`"start":"2026-11-22T00:00:00Z"`, `"start":"2026-11-21T23:00:00Z"`},
		"a minute too many":   {`"minutes":{"0":`, `"minutes":{"61":`},
		"no class":            {`"classes":{"GET`, `"classes":{"x":null,"GET`},
		"no build":            {`"builds":{`, `"builds":{"x":null,`},
		"no minute":           {`"minutes":{"0":`, `"minutes":{"1":null,"0":`},
		"no request":          {`"requests":1,`, `"requests":0,`},
		"less than no time":   {`"lost_ns":`, `"lost_ns":-`},
		"usual less than 0":   {`"running":40000000`, `"running":-4`},
		"first after last":    {`"first":"2026-11-21T23`, `"first":"2027-11-21T23`},
		"a year of 5 digits":  {`"first":"2026-11-21T22:00:00Z"`, `"first":"9999-12-31T23:59:59-14:00"`},
		"more than there is":  {`"slow":1`, `"slow":1000000000000000000`},
		"usual of no request": {`"requests":20`, `"requests":0`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("%s lacks %s", good, tt.old)
			}
			var h, back History
			if err := json.Unmarshal([]byte(strings.Replace(good, tt.old, tt.new, 1)), &h); err != nil {
				t.Fatal(err)
			}
			once := text(t, &h)
			if err := json.Unmarshal([]byte(once), &back); err != nil || text(t, &back) != once {
				t.Errorf("%s\nis read as\n%s, %v", once, text(t, &back), err)
			}
			for _, u := range h.usual() {
				if u.Parts.Total() < 0 {
					t.Errorf("usual requests took %v", u.Parts.Total())
				}
			}
			for _, s := range h.Summaries(time.Time{}) {
				if s.Lost < 0 || s.Last.Before(s.First) {
					t.Errorf("%+v", s)
				}
			}
			if n := h.Coverage(time.Time{}).Slow; n > maxNumber {
				t.Errorf("%d were slow", n)
			}
		})
	}
}

// FuzzJSON: what is read is written and read again as the same, it can be merged with itself, and
// its sums agree with each other.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(text(f, little())))
	f.Add([]byte(`{"version":1,"hours":[{"start":"2026-11-22T00:00:00Z","causes":[{"key":{"cause":"x"},` +
		`"minutes":{"59":{"requests":1,"lost_ns":1}},"first":"2026-11-22T00:00:00Z",` +
		`"last":"2026-11-22T00:00:00Z","worst":{}}]}]}`))
	f.Add([]byte(`{"version":1,"hours":[{"start":"2026-11-22T00:00:00Z","classes":{"a":{` +
		`"minutes":{"0":{"slow":2,"seen":1}}}}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, back, twice History
		if json.Unmarshal(b, &h) != nil {
			return
		}
		once := text(t, &h)
		if err := json.Unmarshal([]byte(once), &back); err != nil || text(t, &back) != once {
			t.Fatalf("%s\nis read as\n%s, %v", once, text(t, &back), err)
		}
		twice.merge(&h)
		twice.merge(&back)
		n, all := uint64(0), uint64(0)
		for _, s := range h.Summaries(time.Time{}) {
			if n += s.Requests; s.Lost < 0 || s.Requests == 0 || s.Last.Before(s.First) {
				t.Errorf("%+v", s)
			}
		}
		for _, s := range twice.Summaries(time.Time{}) {
			all += s.Requests
		}
		if n < maxNumber/2 && all != 2*n {
			t.Errorf("%d requests, and %d twice", n, all)
		}
		var page bytes.Buffer
		if err := WritePage(&page, &h, PageOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// logOf returns a file of these parts, and where each line ends.
func logOf(t testing.TB, parts ...*History) (b []byte, ends []int) {
	t.Helper()
	for _, h := range parts {
		line, err := h.line()
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, line...)
		ends = append(ends, len(b))
	}
	return b, ends
}

func TestReadLogErrors(t *testing.T) {
	for _, b := range []string{"", "\n", "nonsense\n", "00000000 {}\n", "zzzzzzzz {}\n"} {
		if _, _, _, err := ReadLog([]byte(b)); err == nil {
			t.Errorf("%q is read", b)
		}
	}
	later := lineOf([]byte(`{"version":7,"hours":[]}`))
	if _, _, _, err := ReadLog(later); !errors.Is(err, errVersion) {
		t.Errorf("%v", err)
	}
}

// FuzzReadLog: of a file that is cut off anywhere, all lines before the cut are read and nothing of
// the one that is cut. Of one in which a byte is wrong, all lines but that one are. And whatever is
// read can be written, and read again as the same.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte("some requests of several lines"), 100, 7, byte(1))
	f.Add([]byte{0, 1, 2, 3, 200, 255}, 9, 200, byte('\n'))
	f.Fuzz(func(t *testing.T, seeds []byte, cut, at int, flip byte) {
		if len(seeds) > 64 {
			return
		}
		var parts []*History
		for i, s := range seeds {
			r := slow(i, night.Add(time.Duration(s)*time.Minute), lockKey, time.Duration(s)*ms)
			h := &History{}
			h.insert(r)
			h.count(r.Start, "GET /", Count{Slow: 1})
			parts = append(parts, h)
		}
		b, ends := logOf(t, parts...)
		if len(b) == 0 {
			return
		}
		of := func(skip func(int) bool) string {
			h := &History{}
			for i := range parts {
				if !skip(i) {
					h.merge(parts[i])
				}
			}
			return text(t, h)
		}
		cut = int(uint(cut) % uint(len(b)+1))
		h, good, _, _ := ReadLog(b[:cut])
		if want := of(func(i int) bool { return ends[i] > cut }); text(t, h) != want {
			t.Errorf("cut at %d of %d: %s, want %s", cut, len(b), text(t, h), want)
		}
		if good > cut || good != 0 && b[good-1] != '\n' {
			t.Errorf("cut at %d: %d bytes are whole", cut, good)
		}
		at = int(uint(at) % uint(len(b)))
		if flip == 0 || b[at] == '\n' { // without its line feed a line is one with the next, and both are lost
			return
		}
		b[at] ^= flip
		h, _, lost, _ := ReadLog(b)
		if want := of(func(i int) bool { return at < ends[i] && (i == 0 || at >= ends[i-1]) }); text(t, h) != want ||
			lost == 0 {
			t.Errorf("byte %d ^ %d: %d lines lost: %s, want %s", at, flip, lost, text(t, h), want)
		}
		again, _ := logOf(t, h)
		if back, _, lost, err := ReadLog(again); err != nil || lost != 0 || text(t, back) != text(t, h) {
			t.Errorf("written again: %v, %d lines lost", err, lost)
		}
	})
}

// FuzzReadLogBytes: nothing panics, and what is read of any file can be written and read again as the same.
func FuzzReadLogBytes(f *testing.F) {
	more := &History{}
	more.count(night, "a", Count{Slow: 1})
	b, _ := logOf(f, little(), more)
	f.Add(b)
	f.Add([]byte("sum " + text(f, little())))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, ok := bytes.CutPrefix(b, []byte("sum ")); ok { // so that checksums are no wall
			b = lineOf(text)
		}
		h, good, lost, err := ReadLog(b)
		if good > len(b) || err == nil && good == 0 || lost < 0 {
			t.Errorf("%d bytes of %d, %d lines lost, %v", good, len(b), lost, err)
		}
		again, _ := logOf(t, h)
		if back, _, lost, err := ReadLog(again); err != nil || lost != 0 || text(t, back) != text(t, h) {
			t.Errorf("written again: %v, %d lines lost", err, lost)
		}
		if _, err := json.Marshal(h.since(night)); err != nil {
			t.Error(err)
		}
	})
}
