//go:build unix

package main

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"evenkeel.dev/httpd"
)

// messageEnd bounds a message and its answer, from its first byte on.
const messageEnd = 10 * time.Second

// park echoes messages. Between them the connection is parked.
func park(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) { // as the other library does by default
		http.Error(w, "this page may not", http.StatusForbidden)
		return
	}
	nc, _, _, err := ws.UpgradeHTTP(r, httpd.Parkable(w, r))
	if err != nil {
		if nc != nil {
			nc.Close()
		}
		return
	}
	await(nc.(*httpd.Conn))
}

func await(c *httpd.Conn) {
	c.SetDeadline(time.Time{})
	c.Park(func() {
		c.SetDeadline(time.Now().Add(messageEnd))
		if err := answer(c); err != nil {
			c.Close()
			return
		}
		await(c)
	})
}

var errTooLong = errors.New("the message is too long")

// answer reads a message or a control frame, and answers it.
func answer(c *httpd.Conn) error {
	control := wsutil.ControlFrameHandler(c, ws.StateServerSide) // answers pings and closes
	from := wsutil.Reader{
		Source: c, State: ws.StateServerSide,
		CheckUTF8: true, MaxFrameSize: maxMessage, OnIntermediate: control,
	}
	first, err := from.NextFrame()
	if err != nil {
		return err
	}
	if first.OpCode.IsControl() {
		return control(first, &from)
	}
	message, err := io.ReadAll(io.LimitReader(&from, maxMessage+1))
	if err != nil {
		return err
	}
	if len(message) > maxMessage {
		return errTooLong
	}
	frame, err := ws.CompileFrame(ws.NewFrame(first.OpCode, true, message)) // one Write
	if err != nil {
		return err
	}
	_, err = c.Write(frame)
	return err
}

// sameOrigin reports whether a page of this server asks, or no page.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	from, err := url.Parse(origin)
	return err == nil && from.Host == r.Host
}
