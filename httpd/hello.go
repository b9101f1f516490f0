package httpd

import (
	"encoding/binary"
	"io"
)

const (
	recordHead  = 5 // RFC 8446, 5.1: type, version, length
	recordMost  = 1 << 14
	recordRead  = 512 // crypto/tls reads at least so many (bytes.MinRead)
	messageHead = 4
	handshake   = 22
	clientHello = 1
)

// hello cuts the ClientHello into records that fit crypto/tls's first buffer. crypto/tls keeps that
// buffer for the life of the connection, as large as the largest record plus 512 bytes
// (readFromUntil in crypto/tls/conn.go). A ClientHello with an ML-KEM key takes 2 KiB, pieces of it
// 576 bytes. Only the message is hashed, so it may be cut anywhere (RFC 8446, 5.1). All else passes
// unchanged.
type hello struct {
	from  func(p []byte) (int, error)
	head  [recordHead + messageHead]byte
	seen  int
	given int // bytes of head passed on
	left  int // bytes of the message to pass on
	size  int // most of them in a record; 0: pass all unchanged
	known bool
}

func (h *hello) Read(p []byte) (int, error) {
	for !h.known {
		n, err := h.from(h.head[h.seen:])
		h.seen += n
		h.decide(err != nil)
	}
	if len(p) < recordRead && h.given == recordHead && h.size > 0 {
		// an unknown crypto/tls: pass all unchanged
		h.given, h.size = 0, 0
	}
	switch {
	case h.size > 0 && len(p) < recordRead:
		return 0, io.ErrShortBuffer
	case h.size > 0:
		return h.cut(p)
	case h.given < h.seen:
		n := copy(p, h.head[h.given:h.seen])
		h.given += n
		return n, nil
	}
	return h.from(p)
}

// decide looks at head. crypto/tls gets at once what it refuses at once.
func (h *hello) decide(failed bool) {
	n := int(binary.BigEndian.Uint16(h.head[3:]))
	switch {
	case failed, h.seen > 0 && h.head[0] != handshake, h.seen > 1 && h.head[1] != 3, h.seen >= recordHead &&
		(n < messageHead || n > recordMost):
		h.known = true
	case h.seen < len(h.head):
	default:
		h.known = true
		if binary.BigEndian.Uint32(h.head[recordHead:]) != clientHello<<24|uint32(n-messageHead) {
			return
		}
		h.given, h.left, h.size = recordHead, n, n
		for h.size > recordRead-recordHead { // by halves, because crypto/tls doubles its buffer
			h.size = (h.size + 1) / 2
		}
	}
}

// cut makes the next record. If the message ends too early, the record has the rest, and crypto/tls
// finds it torn.
func (h *hello) cut(p []byte) (int, error) {
	body := p[recordHead:][:min(h.size, h.left)]
	n := copy(body, h.head[h.given:])
	h.given += n
	size := n
	if n < len(body) {
		more, err := h.from(body[n:])
		n += more
		size = n
		if more == 0 && err != nil {
			h.size, size = 0, h.left
		}
	}
	if h.left -= n; h.left == 0 {
		h.size = 0
	}
	copy(p, h.head[:3])
	binary.BigEndian.PutUint16(p[3:], uint16(size))
	return recordHead + n, nil
}
