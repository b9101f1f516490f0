package page

import (
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// changeReports makes up the traces of a side: requests of two classes, of which every fortieth
// waits for a lock.
func changeReports(seed uint64, locked time.Duration, line int) (list []*reqtrace.Report) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 3 {
		const n, blocks, second = 1000, 10, time.Second
		r := &reqtrace.Report{Trace: second, Requests: n, Procs: 2, Blocks: make([]reqtrace.Block, blocks)}
		for i := range n {
			class := []string{"GET /", "GET /search"}[one(i%10 == 0)]
			b := &r.Blocks[i%blocks]
			parts := []reqtrace.BlockPart{{
				Class: class, Cause: reqtrace.CauseRunning,
				All: time.Duration(900+rng.IntN(200)) * time.Microsecond,
			}}
			if i%40 == 0 {
				parts = append(parts, reqtrace.BlockPart{
					Class: class, Cause: reqtrace.CauseLock, Site: fmt.Sprintf("main.(*cache).get (cache.go:%d)", line),
					Holder: "main.refresh (cache.go:7)",
					All:    locked + time.Duration(rng.IntN(1000))*time.Microsecond,
				})
			}
			q := reqtrace.SlowRequest{Class: class, Weight: 1}
			for _, p := range parts {
				r.Total.Add(p.Cause, p.All)
				q.Time += p.All
				q.Parts = append(q.Parts, reqtrace.Blame{Cause: p.Cause, Site: p.Site, Holder: p.Holder, Time: p.All})
			}
			b.Parts = append(b.Parts, parts...)
			b.Classes = append(b.Classes, reqtrace.BlockClass{Class: class, Requests: 1})
			if len(parts) > 1 {
				b.Slow = append(b.Slow, q)
			}
		}
		list = append(list, r)
	}
	return list
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestChange shows a lock that is held for longer, and has moved to another line.
func TestChange(t *testing.T) {
	c, err := verdict.Compare(changeReports(1, 10*time.Millisecond, 51), changeReports(2, 14*time.Millisecond, 60),
		verdict.ChangeOptions{Old: "v1 <old>", New: "v2"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Change(&b, c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<old>") {
		t.Error("a name is no text")
	}
	p := html.UnescapeString(b.String())
	for _, want := range []string{
		`<h1 id="verdict">The slowest 1% take `, "lock that main.refresh holds, in main.(*cache).get (cache.go:60)",
		`<tr class="named">`, "slowest 1% of v1 <old>", "slowest 1% of v2",
		"all of v2", "GET /search", "3 traces", newShell(style+explainStyle+explainChangeStyle, explainScript, nil).CSP,
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	checkPage(t, "explainchange.golden.html", b.String())
}
