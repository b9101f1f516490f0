package httpd

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"time"
)

// over is a connection whose Reads come from r, in pieces of up to most bytes.
type over struct {
	net.Conn
	r    io.Reader
	most int
	room int // of the last Read
}

func (o *over) Read(p []byte) (int, error) {
	o.room = len(p)
	return o.r.Read(p[:min(len(p), o.most)])
}

// said is a connection of which all is read at once, in pieces of up to most bytes, and which fails
// with err at its end. It keeps what is written.
type said struct {
	net.Conn
	in   []byte
	most int
	err  error
	out  bytes.Buffer
}

func (s *said) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, s.err
	}
	n := copy(p[:min(len(p), s.most)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func (s *said) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *said) Close() error                     { return nil }
func (s *said) SetWriteDeadline(time.Time) error { return nil }

// configured is the configuration of a server.
func configured(t testing.TB) *tls.Config {
	s := httptest.NewUnstartedServer(nil) // for its certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	return &tls.Config{Certificates: s.TLS.Certificates}
}

// greeting returns what a client of today says first.
func greeting(t testing.TB, c *tls.Config) []byte {
	s := &said{err: io.EOF}
	if err := tls.Client(s, c).Handshake(); err == nil {
		t.Fatal("a handshake with nobody")
	}
	return s.out.Bytes()
}

// record returns one of a handshake.
func record(body ...byte) []byte {
	return append([]byte{handshake, 3, 1, byte(len(body) >> 8), byte(len(body))}, body...)
}

// verdict returns what a server says of what a client says before it ends with err, and the alert
// that it sends, if that is all.
func verdict(config *tls.Config, in []byte, most int, err error, pieces bool) string {
	s := &said{in: in, most: most, err: err}
	var nc net.Conn = s
	if pieces {
		nc = &over{Conn: s, r: &hello{from: s.Read}, most: 1 << 20}
	}
	err = tls.Server(nc, config).Handshake()
	sent := s.out.Bytes()
	if len(sent) > 0 && sent[0] == handshake {
		sent = sent[:1]
	}
	return fmt.Sprintf("%v %x", err, sent)
}

// TestHelloRoom: after a handshake, and a small request, the buffer of crypto/tls is the one that
// it begins with. Without hello it is not.
func TestHelloRoom(t *testing.T) {
	config := configured(t)
	for _, most := range []int{200, 600, 4096} { // a request comes whole
		for _, cut := range []bool{true, false} {
			a, b := net.Pipe()
			client := tls.Client(a, &tls.Config{InsecureSkipVerify: true})
			go func() { _, _ = io.Copy(io.Discard, client) }()
			go func() {
				_, _ = client.Write(make([]byte, 100))
				_, _ = client.Write(make([]byte, 100))
			}()
			nc := &over{Conn: b, r: b, most: most}
			if cut {
				nc.r, nc.most = &hello{from: (&over{r: b, most: most}).Read}, 1<<20
			}
			s := tls.Server(nc, config)
			buf := make([]byte, 200)
			if _, err := io.ReadFull(s, buf); err != nil {
				t.Fatal(err)
			}
			_ = a.Close()
			_, _ = s.Read(buf)
			_ = b.Close()
			if small := nc.room < 1024; small != cut {
				t.Errorf("in pieces of %d, cut: %t: crypto/tls asks for %d bytes", most, cut, nc.room)
			}
		}
	}
}

// TestHelloShort: who reads less at a time than crypto/tls does gets what has come.
func TestHelloShort(t *testing.T) {
	in := greeting(t, &tls.Config{ServerName: "example.com"})
	h := &hello{from: bytes.NewReader(in).Read}
	got, err := io.ReadAll(io.MultiReader(io.LimitReader(iotest.OneByteReader(h), recordHead), h))
	if err != nil || !bytes.Equal(got, in) {
		t.Errorf("%d bytes of %d: %v", len(got), len(in), err)
	}
}

// TestHelloMessage: crypto/tls has the hello in a second buffer, which is hardly larger than the message, too.
func TestHelloMessage(t *testing.T) {
	for n := messageHead; n <= recordMost; n += 1 + n/50 {
		m := make([]byte, n)
		binary.BigEndian.PutUint32(m, clientHello<<24|uint32(n-messageHead))
		h := &hello{from: bytes.NewReader(record(m...)).Read}
		var hand bytes.Buffer
		p := make([]byte, 576)
		for hand.Len() < n {
			k, err := h.Read(p)
			if err != nil || k <= recordHead || k != recordHead+int(binary.BigEndian.Uint16(p[3:])) {
				t.Fatalf("of %d bytes: a record of %d, %v", n, k, err)
			}
			hand.Write(p[recordHead:k])
		}
		if !bytes.Equal(hand.Bytes(), m) {
			t.Fatalf("of %d bytes: others", n)
		}
		if most := n + n/3 + 64; hand.Cap() > most {
			t.Errorf("of %d bytes: a buffer of %d", n, hand.Cap())
		}
	}
}

// TestHelloVerdicts: crypto/tls says of what it gets by a hello what it says without.
func TestHelloVerdicts(t *testing.T) {
	config := configured(t)
	now := greeting(t, &tls.Config{ServerName: "example.com"})
	old := greeting(t, &tls.Config{
		ServerName: "example.com", MaxVersion: tls.VersionTLS12,
		CurvePreferences: []tls.CurveID{tls.CurveP256},
	})
	if len(now) < 1024 || len(old) > 507 {
		t.Fatalf("hellos of %d and %d bytes", len(now), len(old))
	}
	body := now[recordHead:]
	for name, in := range map[string][]byte{
		"nothing":          nil,
		"HTTP":             []byte("GET / HTTP/1.1\r\n\r\n"),
		"a byte":           {handshake},
		"SSL 2":            {0x80, 46, 1, 3, 1, 0, 0, 0, 0, 0},
		"version 16":       {handshake, 16, 1, 0, 9},
		"an empty record":  record(),
		"a short record":   record(1, 0),
		"too long":         {handshake, 3, 1, 0xff, 0xff},
		"long":             append([]byte{handshake, 3, 1, 0x41, 0, 1, 0, 0x40, 0xfc}, make([]byte, 0x4100)...),
		"an alert":         {21, 3, 1, 0, 2, 2, 40},
		"an empty hello":   record(clientHello, 0, 0, 0),
		"another message":  record(20, 0, 0, 1, 0),
		"hello":            now,
		"old hello":        old,
		"half a hello":     now[:len(now)/2],
		"hello and a byte": append(bytes.Clone(now), 0),
		"hello and HTTP":   append(bytes.Clone(now), "GET / HTTP/1.1\r\n\r\n"...),
		"hello twice":      append(bytes.Clone(now), now...),
		"two records":      append(record(body[:200]...), record(body[200:]...)...),
		"two messages":     record(append(bytes.Clone(body), 20, 0, 0, 1, 0)...),
		"a longer message": record(append([]byte{clientHello, 0, 0xff, 0xff}, body[messageHead:]...)...),
	} {
		for _, most := range []int{1, 2, 7, 100, 1 << 20} {
			for _, end := range []error{io.EOF, errors.New("reset")} {
				want := verdict(config, in, most, end, false)
				if got := verdict(config, in, most, end, true); got != want {
					t.Errorf("%s, in pieces of %d: %s, want %s", name, most, got, want)
				}
			}
		}
	}
}

// FuzzHello: as TestHelloVerdicts, of anything.
func FuzzHello(f *testing.F) {
	config := configured(f)
	now := greeting(f, &tls.Config{ServerName: "example.com"})
	f.Add(now, 100)
	f.Add(now[:100], 7)
	f.Add(record(clientHello, 0, 0, 0), 1)
	for i := range 16 { // a byte of it is another
		random := rand.New(rand.NewPCG(1, uint64(i)))
		in := bytes.Clone(now)
		in[random.IntN(min(len(in), 12*(i+1)))] ^= byte(1 << random.IntN(8))
		f.Add(in, 1+random.IntN(600))
	}
	f.Fuzz(func(t *testing.T, in []byte, most int) {
		if most < 1 {
			return
		}
		want := verdict(config, in, most, io.EOF, false)
		if got := verdict(config, in, most, io.EOF, true); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
