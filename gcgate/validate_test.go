package gcgate

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// TestStartTriesTheFiles of turns: the first word of a missing folder does not come when the heap
// is full.
func TestStartTriesTheFiles(t *testing.T) {
	needsFlock(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	busy := filepath.Join(dir, "busy")
	for _, path := range []string{file, busy + queueSuffix} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := FileTurns{Path: filepath.Join(dir, "held")}.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, held)
	for _, c := range []struct {
		name string
		t    FileTurns
		is   error  // nil: any
		says string // "": Start returns no error
	}{
		{"no path", FileTurns{}, nil, "FileTurns.Path is empty"},
		{"too many", FileTurns{Path: filepath.Join(dir, "many"), K: 65}, nil, "FileTurns.K: 65 is out of range"},
		{"no folder", FileTurns{Path: filepath.Join(dir, "missing", "turn")}, fs.ErrNotExist, "make the folder"},
		{"no folder at all", FileTurns{Path: filepath.Join(file, "turn")}, nil, "not a directory"},
		{"no queue", FileTurns{Path: busy}, nil, "cannot wait in " + busy + queueSuffix},
		{"held by another", FileTurns{Path: filepath.Join(dir, "held"), K: 2}, nil, ""},
		{"free", FileTurns{Path: filepath.Join(dir, "free")}, nil, ""},
	} {
		h := gcgatetest.NewHeap()
		h.Rate = 0
		o := Options{Policy: PolicyThrough, Turns: c.t, Collector: h, Logger: slog.New(slog.DiscardHandler)}
		g, err := Start(t.Context(), o)
		if err == nil {
			g.Stop(t.Context())
		}
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if entries, _ := os.ReadDir(c.t.Path + queueSuffix); len(entries) > 0 {
			t.Errorf("%s: it leaves %v in the queue", c.name, entries)
		}
	}
}

// invalidSignal cannot work on this machine.
type invalidSignal struct{ fakeSignal }

func (*invalidSignal) Validate() error { return errPeer }

// absentTurns cannot be decided at first.
type absentTurns struct {
	fakeTurns
	from time.Time
}

func (t *absentTurns) Check(context.Context) error {
	if time.Now().Before(t.from) {
		return errPeer
	}
	return nil
}

// TestStartTriesSignalsAndTurns: what is wrong here is an error, what is wrong elsewhere a warning
// at once.
func TestStartTriesSignalsAndTurns(t *testing.T) {
	o := Options{Signals: []Signal{&invalidSignal{}}, Turns: &fakeTurns{}, Collector: gcgatetest.NewHeap()}
	if _, err := Start(t.Context(), o); !errors.Is(err, errPeer) || !strings.Contains(err.Error(), "Options.Signals") {
		t.Errorf("Start: %v, want what the signal says", err)
	}
	s := &absentSignal{fakeSignal{err: errPeer}}
	synctest.Test(t, func(t *testing.T) {
		turns := &absentTurns{from: time.Now().Add(3 * time.Second)}
		h := gcgatetest.NewHeap()
		h.Rate = 0
		r := startRig(t, Options{Signals: []Signal{s}, Turns: turns}, h)
		defer func() {
			r.Stop()
			time.Sleep(time.Second) // the last collection ends
		}()
		synctest.Wait()
		for _, want := range []string{"a signal without a peer", "turns cannot be taken now"} {
			if log := r.logged.String(); strings.Count(log, want) != 1 {
				t.Errorf("the log does not say %q at once:\n%s", want, log)
			}
		}
		s.set(func() { s.err = nil })
		time.Sleep(5 * time.Second)
		log := r.logged.String()
		if strings.Count(log, "level=WARN") != 2 || strings.Count(log, "it is there now") != 2 {
			t.Errorf("later the log says\n%s", log)
		}
	})
}
