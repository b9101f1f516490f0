package gcgate

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/testutil"
)

// TestOutage: a failure that comes and goes is logged once a minute, and its end as often.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged logBuffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		var o Outage
		o.Over(log, "over") // of nothing
		for range 10 {      // two minutes
			o.Began(log, "began", "member", "b")
			time.Sleep(12 * time.Second)
			o.Over(log, "over", "member", "b")
		}
		var lines []string
		for l := range strings.Lines(logged.String()) {
			_, l, _ = strings.Cut(strings.TrimSpace(l), "level=WARN msg=")
			lines = append(lines, l)
		}
		if want := []string{
			"began member=b", "over member=b", "began member=b times=5",
			"over member=b times=5",
		}; !slices.Equal(lines, want) {
			t.Errorf("the log has %q, want %q", lines, want)
		}
	})
}

// TestWarningsOnceInTheirPeriod: a kind of event is logged once in its period, with how often it
// happened, and once when it is over.
func TestWarningsOnceInTheirPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged logBuffer
		w := newWarnings(slog.New(slog.NewTextHandler(&logged, nil)))
		next := func(want ...string) {
			t.Helper()
			lines := strings.FieldsFunc(logged.String(), func(r rune) bool { return r == '\n' })
			logged.b = nil
			for i := range lines {
				_, lines[i], _ = strings.Cut(lines[i], "level=WARN msg=")
			}
			if !slices.Equal(lines, want) {
				t.Errorf("the log has %q, want %q", lines, want)
			}
		}
		event := func() { w.warn("event", "event", "n", 1); time.Sleep(time.Second) }
		state := func() { w.lasting("state", 10*time.Second, "state"); time.Sleep(time.Second) }

		event()
		next("event n=1")
		for range 20 {
			event()
		}
		next()
		time.Sleep(warnEvery)
		next()
		event()
		next(`event n=1 times=21`)

		w.over("over", "state")
		next() // the log does not know of it
		for range 700 {
			state()
		}
		next("state", "state times=600")
		w.over("over", "state")
		w.over("over", "state")
		next(`over times=700`)
		for range 3 { // it comes and goes
			state()
			w.over("over", "state")
		}
		time.Sleep(10 * time.Second)
		state()
		next("state", "over", "state times=3")

		for range 700 { // one thing that goes on
			w.ongoing("lasts", "lasts")
			time.Sleep(time.Second)
		}
		w.over("over", "lasts")
		next("lasts", "lasts", "over")
	})
}

// lastSignal is a peer that refuses each drain, as HAProxy does while no other server is up.
type lastSignal struct{ fakeSignal }

func (s *lastSignal) Drain(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.fakeSignal.Drain(ctx, d)
}

func (s *lastSignal) Ready(context.Context) error { return nil } // it has nothing to do

// TestPeerThatCannotBeReached is one line in the log while it lasts, and one when a drain succeeds: a
// Ready that had nothing to do does not tell that the peer hears.
func TestPeerThatCannotBeReached(t *testing.T) {
	s := &lastSignal{}
	s.err = errPeer
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.traffic()
		time.Sleep(30 * time.Second)
		collections := func() (n uint64) {
			for _, c := range r.Stats().Collections {
				n += c
			}
			return n
		}
		if n := strings.Count(r.logged.String(), "level=WARN"); n != 1 || collections() < 10 {
			t.Errorf("%d collections, of which the peer did not hear, are %d lines at Warn, want 1:\n%s", collections(),
				n, r.logged.String())
		}
		s.set(func() { s.err = nil })
		time.Sleep(10 * time.Second)
		log := r.logged.String()
		if n := strings.Count(log, "level=WARN"); n != 2 || strings.Count(log, "takes calls again") != 1 ||
			!strings.Contains(log, "times=") {
			t.Errorf("the peer has heard: %d lines at Warn, want 2, the second with how often it had not:\n%s", n, log)
		}
	})
}

// TestRequestThatNeverEnds makes each drain run to its bound: the log says so once, and how many
// there are.
func TestRequestThatNeverEnds(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{&fakeSignal{}}}, func(t *testing.T, r *rig) {
		r.traffic()
		hang := []Ticket{r.Enter(), r.Enter()}
		time.Sleep(time.Minute)
		log := r.logged.String()
		if strings.Count(log, "did not end") != 1 || !strings.Contains(log, "requests=2 waited=") ||
			!strings.Contains(log, "fix=") {
			t.Errorf("the log:\n%s", log)
		}
		time.Sleep(lastsEvery)
		if log := r.logged.String(); strings.Count(log, "did not end") != 2 || !strings.Contains(log, "times=") {
			t.Errorf("ten minutes later the log is\n%s", log)
		}
		for _, ticket := range hang {
			ticket.Exit()
		}
		time.Sleep(10 * time.Second)
		if s := r.Stats(); strings.Count(r.logged.String(), "end within the drain again") != 1 || s.InFlight > 1 {
			t.Errorf("they have ended: %d in flight; the log:\n%s", s.InFlight, r.logged.String())
		}
	})
}

// TestLogLinesAreShort: the message of each line of the gate and what belongs to it has less than
// 120 characters.
func TestLogLinesAreShort(t *testing.T) {
	logs := []string{"Debug", "Info", "Warn", "Error", "Log", "warn", "lasting", "over", "check"}
	lines := 0
	for _, dir := range []string{
		".", "../contrib/etcdturn", "../contrib/k8sturn", "../contrib/grpc/grpcgate",
		"../contrib/raftgate",
	} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !slices.Contains(logs, callee(call)) {
					return true
				}
				for _, arg := range call.Args {
					text := literal(arg)
					if !strings.Contains(text, ": ") {
						continue // no message: those begin with their package's name
					}
					if lines++; len(text) >= 120 {
						t.Errorf("%v: the message has %d characters, the most are 119: put details into attributes: %s",
							files.Position(arg.Pos()), len(text), text)
					}
					break
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if lines < 40 {
		t.Errorf("only %d lines found", lines)
	}
}

// callee is the last name of what is called.
func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// literal is the text of a string literal, or of several added up; what is no literal is left out.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}
