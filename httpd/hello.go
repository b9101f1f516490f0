package httpd

import (
	"encoding/binary"
	"io"
)

const (
	recordHead  = 5       // RFC 8446, 5.1: type, version, length
	recordMost  = 1 << 14 // bytes of a record that is not encrypted
	recordRead  = 512     // crypto/tls has room for so many at least when it reads (bytes.MinRead)
	messageHead = 4       // RFC 8446, 4: type, length
	handshake   = 22      // type of a record
	clientHello = 1       // type of a message
)

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// hello has crypto/tls read the ClientHello in records that fit into the buffer that it begins
// with. crypto/tls keeps that buffer for as long as the connection lasts, as large as the largest
// record has made it, which is 512 bytes more (readFromUntil of crypto/tls/conn.go): 2 KiB for the
// hello of today's clients, in which is a key of ML-KEM, and 576 bytes for pieces of it and for
// small requests. A message may be cut into records anywhere (RFC 8446, 5.1); what is hashed and
// signed is the message alone. All else passes as it came: crypto/tls refuses it in its own words.
type hello struct {
	from  io.Reader                      // what has failed fails again
	head  [recordHead + messageHead]byte // what the connection begins with
	seen  int                            // bytes of head that have come,
	given int                            // and that were passed on
	left  int                            // bytes of the message that were not passed on
	size  int                            // of them in a record at the most; 0: all passes as it came
	known bool                           // what the connection begins with
}

// Read implements io.Reader, for crypto/tls.
func (h *hello) Read(p []byte) (int, error) {
	for !h.known {
		n, err := h.from.Read(h.head[h.seen:])
		h.seen += n
		h.decide(err != nil)
	}
	if len(p) < recordRead && h.given == recordHead && h.size > 0 {
		// a crypto/tls that reads in another way has it as it came
		h.given, h.size = 0, 0
	}
	switch {
	case h.size > 0 && len(p) < recordRead:
		return 0, io.ErrShortBuffer // it has begun otherwise
	case h.size > 0:
		return h.cut(p)
	case h.given < h.seen:
		n := copy(p, h.head[h.given:h.seen])
		h.given += n
		return n, nil
	}
	return h.from.Read(p)
}

// decide looks at what has come: crypto/tls gets at once what it refuses at once.
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
			return // something else, or not in one record
		}
		h.given, h.left, h.size = recordHead, n, n
		for h.size > recordRead-recordHead { // by halves: crypto/tls has the message in a buffer that doubles
			h.size = (h.size + 1) / 2
		}
	}
}

// cut makes the next record of the message. At an end before the message's it begins one with all
// the rest, so that crypto/tls finds it torn.
func (h *hello) cut(p []byte) (int, error) {
	body := p[recordHead:][:min(h.size, h.left)]
	n := copy(body, h.head[h.given:]) // at first, what came with the record's own head
	h.given += n
	size := n
	if n < len(body) {
		more, err := h.from.Read(body[n:])
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
