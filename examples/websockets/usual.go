//go:build unix

package main

import (
	"context"
	"net/http"
	"sync"

	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

// maxMessage is how long a message may be, in bytes.
const maxMessage = 1 << 20

var (
	upgrader      gorilla.Upgrader
	smallUpgrader = gorilla.Upgrader{ReadBufferSize: 256, WriteBufferPool: new(sync.Pool)}
)

// useGorilla echoes messages: a goroutine waits for them.
func useGorilla(w http.ResponseWriter, r *http.Request) {
	if c, err := upgrader.Upgrade(w, r, nil); err == nil { // else it has answered
		echo(c)
	}
}

// useGorillaSmall is useGorilla with little memory: a small buffer for reads, one for writes only
// while it writes, and a goroutine of its own, so that net/http's ends, whose buffers go with it.
func useGorillaSmall(w http.ResponseWriter, r *http.Request) {
	if c, err := smallUpgrader.Upgrade(w, r, nil); err == nil {
		go echo(c)
	}
}

func echo(c *gorilla.Conn) {
	defer c.Close()
	c.SetReadLimit(maxMessage)
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// useCoder echoes messages: a goroutine waits for them.
func useCoder(w http.ResponseWriter, r *http.Request) {
	c, err := coder.Accept(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer c.CloseNow()
	c.SetReadLimit(maxMessage)
	ctx := context.Background() // the request's is over
	for {
		kind, message, err := c.Read(ctx)
		if err != nil || c.Write(ctx, kind, message) != nil {
			return
		}
	}
}
