package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
)

// busyEnv makes this program a busy loop.
const busyEnv = "FLAKE_BUSY"

var spun atomic.Uint64 // by beBusy

// beBusy takes a core until standard input ends, so that it cannot outlive the program that started it.
func beBusy() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		spun.Add(1)
	}
}

// neighbours are what the tests share the machine with.
type neighbours struct {
	busy  []io.Closer // standard inputs of the busy loops
	end   context.CancelFunc
	wg    sync.WaitGroup
	cache string // of the compiler
}

// startNeighbours starts a busy loop for each core, and a compiler that builds the standard library for ever.
func startNeighbours(ctx context.Context) (*neighbours, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cache, err := os.MkdirTemp("", "flake-cache-")
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	n := &neighbours{end: end, cache: cache}
	for range runtime.NumCPU() {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), busyEnv+"=1", "GOMAXPROCS=2") // one for the loop, one to see the end
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			n.stop()
			return nil, err
		}
		n.busy = append(n.busy, in)
		n.wg.Go(func() { cmd.Wait() })
	}
	n.wg.Go(func() {
		for ctx.Err() == nil {
			cmd := command(ctx, "go", "build", "-a", "std")
			cmd.Env = append(os.Environ(), "GOCACHE="+cache)
			if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
				fmt.Printf("the compiler beside the tests failed, and runs no more: %v\n%s", err, out)
				return
			}
		}
	})
	return n, nil
}

func (n *neighbours) String() string {
	return fmt.Sprintf("%d busy loops and go build -a std", len(n.busy))
}

// stop ends all of them and waits until they are gone.
func (n *neighbours) stop() {
	n.end()
	for _, in := range n.busy {
		in.Close()
	}
	n.wg.Wait()
	os.RemoveAll(n.cache)
}
