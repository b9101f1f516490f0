//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/examples/websockets/idle"
)

const (
	warmUp    = 50 // connections that pay for what all share
	answerEnd = time.Minute
)

func memory(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(idle.Read())
}

// measure opens n connections in each way, and prints what an idle one holds.
func measure(ctx context.Context, n int, stdout io.Writer) error {
	fmt.Fprintf(stdout, "| bytes an idle websocket, of %d | resident | of it heap | stack | goroutines |\n", n)
	fmt.Fprintln(stdout, "|---|---|---|---|---|")
	for _, w := range ways {
		before, after, err := hold(ctx, w.name, n)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		resident, heap, stack, goroutines := before.Each(after, n)
		fmt.Fprintf(stdout, "| %s | %.0f | %.0f | %.0f | %.2f |\n", w.says, resident, heap, stack, goroutines)
	}
	return nil
}

var listening = regexp.MustCompile(`msg=listening url=http://(\S+)`)

// hold returns what a server holds before and after n connections.
func hold(ctx context.Context, way string, n int) (before, after idle.Memory, err error) {
	program, err := os.Executable()
	if err != nil {
		return before, after, err
	}
	server, err := child.Start(ctx, child.Options{
		Args: []string{program, "-serve", way, "-addr", "127.0.0.1:0"}, Ready: listening,
	})
	if err != nil {
		return before, after, err
	}
	defer server.Kill()
	dial := func(ctx context.Context) (net.Conn, error) { return greet(ctx, server.Match) }
	few, err := idle.Open(ctx, warmUp, dial)
	defer idle.Close(few)
	if err == nil {
		before, err = ask(ctx, server.Match)
	}
	if err != nil {
		return before, after, err
	}
	many, err := idle.Open(ctx, n, dial)
	defer idle.Close(many)
	if err == nil {
		after, err = ask(ctx, server.Match)
	}
	return before, after, err
}

// ask uses a connection that ends with it.
func ask(ctx context.Context, addr string) (m idle.Memory, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/memory", nil)
	if err != nil {
		return m, err
	}
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return m, err
	}
	defer res.Body.Close()
	return m, json.NewDecoder(res.Body).Decode(&m)
}

func greet(ctx context.Context, addr string) (net.Conn, error) {
	c, ahead, _, err := ws.Dial(ctx, "ws://"+addr+"/ws")
	if err != nil {
		return nil, err
	}
	if ahead != nil {
		ws.PutReader(ahead) // the server does not speak first
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
