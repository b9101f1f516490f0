//go:build unix

package main

import (
	"net/http"
	"sync"

	gorilla "github.com/gorilla/websocket"
)

// maxMessage is in bytes.
const maxMessage = 1 << 20

var (
	upgrader      gorilla.Upgrader
	smallUpgrader = gorilla.Upgrader{ReadBufferSize: 256, WriteBufferPool: new(sync.Pool)}
)

// useGorilla has a goroutine wait for messages.
func useGorilla(w http.ResponseWriter, r *http.Request) {
	if c, err := upgrader.Upgrade(w, r, nil); err == nil { // else it has answered
		echo(c)
	}
}

// useGorillaSmall has a small buffer for reads, one for writes only while it writes, and its own
// goroutine. net/http's goroutine ends, and its buffers with it.
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
