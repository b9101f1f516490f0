//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/examples/child"
)

// plants are the causes, by number.
var plants = map[int]*plant{
	1: {prepare: fillHeap, serve: allocate},
	2: {prepare: copyAndCollect},
	3: {prepare: readAnew, serve: look},
	4: {prepare: computeInBursts},
	5: {prepare: lockFile, serve: askForFile},
	6: {prepare: startBehind, serve: askBehind},
	7: {prepare: startPool, serve: submit},
	8: {prepare: func(bool) error { debug.SetGCPercent(-1); return nil }},
}

// node is an allocation with pointers.
type node struct {
	left, right *node
	_           [4]uint64
}

// What lives.
var heap, recent atomic.Pointer[node]

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

// fillHeap makes a heap of some 50 MB that lives. The headroom is small, so that who allocates
// much has to mark much.
func fillHeap(without bool) error {
	heap.Store(tree(20))
	recent.Store(tree(22)) // memory that the kernel has given, for those without a collector as well
	recent.Store(nil)
	runtime.GC()
	debug.SetGCPercent(10)
	if without {
		debug.SetGCPercent(-1)
	}
	return nil
}

// allocate makes some 3 MB of pointers.
func allocate(slow bool) error {
	if slow {
		recent.Store(tree(16))
	}
	return nil
}

// copyAndCollect copies 400 MB every so often, in one go or in pieces, and collects meanwhile, for which
// there are two processors at least: on one, the collection would only begin when the copy is done.
func copyAndCollect(without bool) error {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(-1)
	from, to := make([]byte, 400<<20), make([]byte, 400<<20)
	piece := len(from)
	if without {
		piece = 256 << 10
	}
	copy(to, from)
	begins := make(chan bool)
	go func() {
		for range time.Tick(400 * time.Millisecond) {
			begins <- true
			for at := 0; at < len(from); at += piece {
				move(to[at:at+piece], from[at:])
			}
		}
	}()
	go func() {
		for range begins {
			time.Sleep(2 * time.Millisecond)
			runtime.GC()
		}
	}()
	return nil
}

// move is a call, at whose start the goroutine can be preempted.
//
//go:noinline
func move(to, from []byte) { copy(to, from) }

// table is what readAnew reads, and requests look at.
var table struct {
	sync.Mutex
	version int
}

// readAnew reads the table anew twice a second, with the lock or without.
func readAnew(without bool) error {
	go func() {
		for range time.Tick(400 * time.Millisecond) {
			if without {
				read()
				table.Lock()
			} else {
				table.Lock()
				read()
			}
			table.version++
			table.Unlock()
		}
	}()
	return nil
}

// read stands for a file or a query.
func read() { time.Sleep(stronger(50 * time.Millisecond)) }

func look(bool) error {
	table.Lock()
	defer table.Unlock()
	if table.version < 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// computeInBursts starts four goroutines for each processor twice a second.
func computeInBursts(without bool) error {
	if without {
		return nil
	}
	go func() {
		for range time.Tick(500 * time.Millisecond) {
			for range 4 * runtime.GOMAXPROCS(0) {
				go compute(stronger(25 * time.Millisecond))
			}
		}
	}()
	return nil
}

var lockedFile int // its descriptor

// lockFile locks a file for 50 ms twice a second.
func lockFile(without bool) error {
	f, err := os.CreateTemp("", "plant-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if lockedFile, err = syscall.Open(f.Name(), syscall.O_RDWR|syscall.O_CLOEXEC, 0); err != nil {
		return err
	}
	go func() {
		for range time.Tick(400 * time.Millisecond) {
			if !without {
				err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
			}
			time.Sleep(stronger(50 * time.Millisecond))
			if err == nil && !without {
				_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
			}
		}
	}()
	return nil
}

// askForFile takes a shared lock, as others do, and releases it.
func askForFile(bool) error {
	if err := syscall.Flock(lockedFile, syscall.LOCK_SH); err != nil {
		return err
	}
	return syscall.Flock(lockedFile, syscall.LOCK_UN)
}

var behind struct {
	url     string
	without bool
	client  http.Client
}

// startBehind starts the service behind this one.
func startBehind(without bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := child.Start(context.Background(), child.Options{
		Args: []string{self, "-behind", fmt.Sprintf("-strength=%g", strength)}, Ready: regexp.MustCompile("^(.*)$"), Input: true, Stderr: os.Stderr,
	})
	if err != nil {
		return fmt.Errorf("the service behind: %w", err)
	}
	behind.url, behind.without = c.Match, without
	behind.client.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	return nil
}

func askBehind(slow bool) error {
	url := behind.url
	if slow && !behind.without {
		url += "/?slow=1"
	}
	res, err := behind.client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// answer is the service behind.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("slow") == "1" {
		time.Sleep(stronger(40 * time.Millisecond))
	}
	_, _ = w.Write(page)
}

// job is done when its channel is closed.
type job chan struct{}

var jobs = make(chan job)

// startPool starts workers, and bursts of jobs.
func startPool(without bool) error {
	workers := 2
	if without {
		workers = 100
	}
	for range workers {
		go func() {
			for j := range jobs {
				time.Sleep(stronger(time.Millisecond))
				close(j)
			}
		}()
	}
	go func() {
		for range time.Tick(400 * time.Millisecond) {
			for range 60 {
				go func() { _ = submit(false) }()
			}
		}
	}()
	return nil
}

func submit(bool) error {
	j := make(job)
	jobs <- j
	<-j
	return nil
}
