//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"evenkeel.dev/examples/child"
)

const (
	warmUp    = 50 // connections before the first measurement: what the first ones make for all is in it
	dialers   = 16 // at once
	answerEnd = time.Minute
)

// holding is what the server holds, in bytes, when the collector has done its work.
type holding struct {
	Resident, Heap, Stack int64
	Goroutines            int64
}

// memory tells it.
func memory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC() // a sync.Pool keeps what it has for one more
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	json.NewEncoder(w).Encode(holding{resident(), int64(m.HeapAlloc), int64(m.StackInuse), int64(runtime.NumGoroutine())})
}

// resident is VmRSS of proc(5); 0 where there is none.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10
}

// measure opens n connections in each way, and prints what an idle one holds.
func measure(ctx context.Context, n int, stdout io.Writer) error {
	fmt.Fprintf(stdout, "| bytes an idle websocket, of %d | resident | of it heap | stack | goroutines |\n|---|---|---|---|---|\n", n)
	for _, w := range ways {
		one, err := hold(ctx, w.name, n)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(stdout, "| %s | %.0f | %.0f | %.0f | %.2f |\n", w.says, one[0], one[1], one[2], one[3])
	}
	return nil
}

var listening = regexp.MustCompile(`msg=listening url=http://(\S+)`)

// hold starts a server, and returns what one of n connections adds to it: resident, heap, stack, goroutines.
func hold(ctx context.Context, way string, n int) (one [4]float64, err error) {
	program, err := os.Executable()
	if err != nil {
		return one, err
	}
	server, err := child.Start(ctx, child.Options{Args: []string{program, "-serve", way, "-addr", "127.0.0.1:0"}, Ready: listening})
	if err != nil {
		return one, err
	}
	defer server.Kill()
	few, err := open(ctx, server.Match, warmUp)
	defer closeAll(few)
	if err != nil {
		return one, err
	}
	before, err := ask(ctx, server.Match)
	if err != nil {
		return one, err
	}
	many, err := open(ctx, server.Match, n)
	defer closeAll(many)
	if err != nil {
		return one, err
	}
	after, err := ask(ctx, server.Match)
	for i, d := range [4]int64{
		after.Resident - before.Resident, after.Heap - before.Heap, after.Stack - before.Stack, after.Goroutines - before.Goroutines,
	} {
		one[i] = float64(d) / float64(n)
	}
	return one, err
}

// ask asks a server what it holds, over a connection that ends with it.
func ask(ctx context.Context, addr string) (h holding, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/memory", nil)
	if err != nil {
		return h, err
	}
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	return h, json.NewDecoder(res.Body).Decode(&h)
}

// open opens n websockets, each of which has a message echoed.
func open(ctx context.Context, addr string, n int) ([]net.Conn, error) {
	conns, failed := make([]net.Conn, n), make([]error, dialers)
	var next atomic.Int64
	var all sync.WaitGroup
	for d := range failed {
		all.Go(func() {
			for ctx.Err() == nil && failed[d] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				conns[i], failed[d] = greet(ctx, addr)
			}
		})
	}
	all.Wait()
	return conns, errors.Join(append(failed, ctx.Err())...)
}

// greet opens a websocket, and has a message echoed.
func greet(ctx context.Context, addr string) (net.Conn, error) {
	c, ahead, _, err := ws.Dial(ctx, "ws://"+addr+"/ws")
	if err != nil {
		return nil, err
	}
	if ahead != nil {
		ws.PutReader(ahead) // the server speaks when it is spoken to
	}
	c.SetDeadline(time.Now().Add(answerEnd))
	const message = "to and fro"
	err = wsutil.WriteClientText(c, []byte(message))
	var got []byte
	if err == nil {
		got, err = wsutil.ReadServerText(c)
	}
	if err == nil && string(got) != message {
		err = fmt.Errorf("the echo of %q is %q", message, got)
	}
	return c, err
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}
