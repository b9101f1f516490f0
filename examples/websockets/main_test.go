//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	gorilla "github.com/gorilla/websocket"

	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/internal/leaks"
)

const patience = 30 * time.Second

// messages have each form of length of a frame's header.
var messages = []string{"", "to and fro", strings.Repeat("to and fro ", 100), strings.Repeat("to and fro ", 20_000)}

func TestMain(m *testing.M) { program.Main(main, func() { leaks.Main(m) }) }

func TestProgram(t *testing.T) {
	path := os.Args[0]
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { echoes(t, path, w.name) })
	}
	t.Run("refuses", func(t *testing.T) { refuses(t, path) })
	t.Run("says", func(t *testing.T) { says(t, path) })
	t.Run("arguments", func(t *testing.T) {
		program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "7000")
		program.Refuses(t, path, 2, `unexpected argument "7000"`, "7000")
		program.Refuses(t, path, 2, "-serve none: it must be one of gorilla, ", "-serve", "none")
		program.Refuses(t, path, 2, "-n 0: it must be 1 to", "-n", "0")
		p := program.Start(t, path, "-serve", "gorilla")
		program.Refuses(t, path, 1, "choose another address with -addr", "-serve", "parked", "-addr", p.Addr)
		p.Stop(syscall.SIGINT)
	})
}

// echoes tests messages whole and in fragments, a ping between, and a close, with each library's
// client.
func echoes(t *testing.T, path, way string) {
	p := program.Start(t, path, "-serve", way)
	url := "ws://" + p.Addr + "/ws"
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() { speakGorilla(t, url) })
		clients.Go(func() { speakCoder(t, url) })
		clients.Go(func() { speakGobwas(t, url) })
	}
	clients.Wait()
	p.Stop(syscall.SIGINT)
}

func speakGorilla(t *testing.T, url string) {
	dialer := gorilla.Dialer{WriteBufferSize: 1000} // length of a frame
	c, _, err := dialer.Dial(url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(patience))
	ponged := false
	c.SetPongHandler(func(text string) error {
		ponged = text == "ping"
		return nil
	})
	for _, m := range messages {
		to, err := c.NextWriter(gorilla.TextMessage)
		if err != nil {
			t.Error(err)
			return
		}
		to.Write([]byte(m[:len(m)/2]))
		if err := c.WriteControl(gorilla.PingMessage, []byte("ping"), time.Now().Add(patience)); err != nil {
			t.Error(err)
		}
		to.Write([]byte(m[len(m)/2:]))
		to.Close()
		if kind, got, err := c.ReadMessage(); string(got) != m || kind != gorilla.TextMessage || err != nil {
			t.Errorf("%d bytes: %d, %d, %v", len(m), kind, len(got), err)
			return
		}
	}
	if !ponged {
		t.Error("no pong")
	}
	c.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""),
		time.Now().Add(patience))
	if _, _, err := c.ReadMessage(); !gorilla.IsCloseError(err, gorilla.CloseNormalClosure) {
		t.Errorf("the close is answered by %v", err)
	}
}

func speakCoder(t *testing.T, url string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := coder.Dial(ctx, url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	for _, m := range messages {
		if err := c.Write(ctx, coder.MessageBinary, []byte(m)); err != nil {
			t.Error(err)
		}
		if kind, got, err := c.Read(ctx); string(got) != m || kind != coder.MessageBinary || err != nil {
			t.Errorf("%d bytes: %v, %d, %v", len(m), kind, len(got), err)
			return
		}
	}
	if err := c.Close(coder.StatusNormalClosure, ""); err != nil {
		t.Errorf("the close is answered by %v", err)
	}
}

func speakGobwas(t *testing.T, url string) {
	c, _, _, err := ws.Dial(t.Context(), url)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	for _, m := range messages {
		frame := ws.MaskFrame(ws.NewTextFrame([]byte(m)))
		whole, err := ws.CompileFrame(frame)
		if err != nil {
			t.Error(err)
		}
		for len(whole) > 0 { // in pieces, also of the header
			n := min(len(whole), 1+len(whole)/3)
			c.Write(whole[:n])
			whole = whole[n:]
		}
		if got, err := wsutil.ReadServerText(c); string(got) != m || err != nil {
			t.Errorf("%d bytes: %d, %v", len(m), len(got), err)
			return
		}
	}
}

// refuses tests that long messages and invalid text end the connection, and that other requests and
// pages are refused.
func refuses(t *testing.T, path string) {
	p := program.Start(t, path, "-serve", "parked")
	long := make([]byte, maxMessage+1)
	rand.Read(long)
	for what, frames := range map[string][]ws.Frame{
		"too long": {ws.NewBinaryFrame(long)},
		"a part each": {
			ws.NewFrame(ws.OpBinary, false, long[:maxMessage]),
			ws.NewFrame(ws.OpContinuation, true, long[:1]),
		},
		"no text": {ws.NewTextFrame([]byte{0xff})},
	} {
		c, _, _, err := ws.Dial(t.Context(), "ws://"+p.Addr+"/ws")
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		for _, f := range frames {
			ws.WriteFrame(c, ws.MaskFrame(f)) // may be reset
		}
		if got, err := wsutil.ReadServerBinary(c); err == nil {
			t.Errorf("%s: %d bytes come back", what, len(got))
		}
		c.Close()
	}
	res, err := http.Get("http://" + p.Addr + "/ws")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode < 400 {
		t.Errorf("no websocket: %s", res.Status)
	}
	from := http.Header{"Origin": {"http://example.com"}}
	if _, res, err := gorilla.DefaultDialer.Dial("ws://"+p.Addr+"/ws", from); err == nil ||
		res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page: %v, %v", res, err)
	}
	http.DefaultClient.CloseIdleConnections()
	p.Stop(syscall.SIGTERM)
}

// TestWithoutAio tests that what is parked works on net/http.
func TestWithoutAio(t *testing.T) {
	srv := httptest.NewServer(routes(find("parked")))
	defer srv.Close()
	url := "ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"
	speakGorilla(t, url)
	speakCoder(t, url)
	speakGobwas(t, url)
}

var row = regexp.MustCompile(`\| (\S+).* \| -?\d+ \| -?\d+ \| -?\d+ \| (-?\d+\.\d\d) \|`)

// says tests the table. Parked connections have no goroutine.
func says(t *testing.T, path string) {
	out, err := exec.Command(path, "-n", "100").CombinedOutput()
	rows := row.FindAllSubmatch(out, -1)
	if err != nil || len(rows) != len(ways) {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, r := range rows {
		goroutines, err := strconv.ParseFloat(string(r[2]), 64)
		if parked := bytes.HasPrefix(r[1], []byte("parked")); err != nil || parked && goroutines > 0.2 || !parked &&
			goroutines < 0.9 {
			t.Errorf("%s", r[0])
		}
	}
}
