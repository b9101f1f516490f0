package httpd

import "time"

func (w *worker) SetDeadline(t time.Time) error {
	_ = w.SetReadDeadline(t)
	return w.SetWriteDeadline(t)
}

func (w *worker) SetReadDeadline(t time.Time) error {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.readUntil(t)
	return nil
}

func (w *worker) readUntil(t time.Time) {
	before := w.deadlines.in
	w.deadlines.in = t
	switch {
	case w.conn == nil:
	case w.parkFunc != nil:
		w.conn.handle().SetDeadline(w.conn, t)
	case w.phase == answered:
		w.phase = between
		if before.Equal(aborts) { // by a handler; net/http resets its own
			w.pool.spoilt = true
		}
	case w.phase == between:
		w.phase = inRequest
		w.setReadingHeader(true) // it had its first bytes before
	}
	w.wake()
}

// SetWriteDeadline makes Writes fail at t. A later t also holds for queued bytes. net/http's own
// bytes are in the kernel already, without a deadline.
func (w *worker) SetWriteDeadline(t time.Time) error {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.writeUntil(t)
	return nil
}

func (w *worker) writeUntil(t time.Time) {
	before := w.deadlines.out
	w.deadlines.out = t
	if w.output.file != nil {
		_ = w.output.file.SetWriteDeadline(t)
	}
	c := w.conn
	switch {
	case c == nil:
	case w.output.writing > 0:
		c.handle().SetDeadline((*sender)(c), t)
		w.wake()
	// net/http's zero must not keep an answer that nobody reads
	case c.out > 0 && !before.IsZero() && (t.After(before) || t.IsZero() && (w.handling.Load() || c.hijacked)):
		c.handle().SetDeadline((*sender)(c), t)
	}
}
