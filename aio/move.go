package aio

import (
	"cmp"
	"slices"

	"evenkeel.dev/aio/internal/proactor"
)

// Spread hands a new connection to that of several Watchers which has the fewest, and returns it as
// Move does. So one Watcher can accept for all. Connections that are not equally busy may be moved
// later, by what [Stats.Waited] says. See Move for errors.
func (c *Conn) Spread(among ...*Watcher) (*Conn, error) {
	if len(among) == 0 {
		return nil, ErrWatcherClosed
	}
	return c.Move(slices.MinFunc(among, func(a, b *Watcher) int { return cmp.Compare(a.conns.Load(), b.conns.Load()) }))
}

// Move hands the connection to another Watcher with the same backend, and returns it as a
// connection of that one. c is closed. It allocates a Conn, and costs two system calls if the
// connection has been waited for.
//
// It fails with ErrPending if WaitIO has not returned all operations of the connection,
// ErrTooManyConns, ErrClosed, ErrWatcherClosed, or an error that matches errors.ErrUnsupported if the
// backends differ. On an error nothing has changed.
func (c *Conn) Move(to *Watcher) (*Conn, error) {
	w := c.watcher()
	switch w {
	case nil:
		return nil, ErrClosed
	case to:
		return c, nil
	}
	first, second := w, to
	if first.id > second.id {
		first, second = to, w
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	switch {
	case to.refusing():
		return nil, ErrWatcherClosed
	case to.connsFull():
		return nil, ErrTooManyConns
	}
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if err := w.leaves(&c.desc); err != nil {
		return nil, err
	}
	moved := &Conn{remote: c.remote, peer4: c.peer4, port4: c.port4, at: to.placeAt(c.at.local)}
	if !w.backend.Move(&c.desc, to.backend, &moved.desc) {
		return nil, errBackends
	}
	w.left(&c.desc)
	to.enter(&moved.desc, moved)
	return moved, nil
}

var errBackends = &proactor.MissingError{Feature: "Move", Need: "two Watchers with the same backend"}
