package loadgen

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// wellFormed are answers to GET, or to HEAD where head is set.
var wellFormed = []struct {
	name string
	in   string
	head bool
	want answer
	rest int // bytes of in beyond the answer
}{
	{name: "length", in: okAnswer, want: answer{status: 200, bytes: 2}},
	{name: "no reason", in: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", want: answer{status: 200}},
	{name: "empty reason", in: "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", want: answer{status: 404}},
	{
		name: "unknown status", in: "HTTP/1.1 999 What\r\nContent-Length: 1\r\n\r\nx",
		want: answer{status: 999, bytes: 1},
	},
	{name: "bare line feeds", in: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", want: answer{status: 200, bytes: 2}},
	{
		name: "names and spaces", in: "HTTP/1.1 200 OK\r\nCONTENT-length:\t 2 \t\r\n\r\nok",
		want: answer{status: 200, bytes: 2},
	},
	{
		name: "same length twice", in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
		want: answer{status: 200, bytes: 2},
	},
	{name: "next answer behind", in: okAnswer + okAnswer, want: answer{status: 200, bytes: 2}, rest: len(okAnswer)},

	{
		name: "close", in: "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok",
		want: answer{status: 200, bytes: 2, close: true},
	},
	{
		name: "close in a list", in: "HTTP/1.1 200 OK\r\nConnection: upgrade , close\r\nContent-Length: 0\r\n\r\n",
		want: answer{status: 200, close: true},
	},
	{
		name: "close wins",
		in:   "HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		want: answer{status: 200, close: true},
	},
	{name: "to the end", in: "HTTP/1.1 200 OK\r\n\r\nall of it", want: answer{status: 200, bytes: 9, close: true}},
	{name: "to the end, empty", in: "HTTP/1.1 200 OK\r\n\r\n", want: answer{status: 200, close: true}},
	{
		name: "1.0", in: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		want: answer{status: 200, bytes: 2, close: true},
	},
	{
		name: "1.0 kept", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		want: answer{status: 200, bytes: 2},
	},
	{
		name: "1.0 to the end", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nok",
		want: answer{status: 200, bytes: 2, close: true},
	},

	{name: "204", in: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", want: answer{status: 204}},
	{name: "304", in: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", want: answer{status: 304}},
	{name: "head", in: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", head: true, want: answer{status: 200}},
	{name: "head chunked", in: chunkedHead, head: true, want: answer{status: 200}},
	{name: "head bare", in: "HTTP/1.1 200 OK\r\n\r\n", head: true, want: answer{status: 200}},

	{name: "100", in: "HTTP/1.1 100 Continue\r\n\r\n" + okAnswer, want: answer{status: 200, bytes: 2}},
	{
		name: "103 with headers", in: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\n\r\n" + okAnswer,
		want: answer{status: 200, bytes: 2},
	},
	{
		name: "16 of 1xx", in: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 16) + okAnswer,
		want: answer{status: 200, bytes: 2},
	},

	{
		name: "chunked", in: chunkedHead + "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
		want: answer{status: 200, bytes: 13},
	},
	{name: "chunked, empty", in: chunkedHead + "0\r\n\r\n", want: answer{status: 200}},
	{
		name: "chunk extensions", in: chunkedHead + "3;a=b\r\nabc\r\n1 ;x=\"y\"\r\n.\r\n000;z\r\n\r\n",
		want: answer{status: 200, bytes: 4},
	},
	{
		name: "trailers", in: chunkedHead + "1\r\na\r\n0\r\nX: y\r\nContent-Length: 7\r\n\r\n" + okAnswer,
		want: answer{status: 200, bytes: 1}, rest: len(okAnswer),
	},
	{
		name: "chunked beats length",
		in:   "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		want: answer{status: 200, bytes: 1},
	},
	{name: "chunk longer than the buffer", in: chunkedHead + "30d40\r\n" + strings.Repeat("x", 200000) +
		"\r\n0\r\n\r\n", want: answer{status: 200, bytes: 200000}},

	{name: "large head", in: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1000) +
		"Content-Length: 2\r\n\r\nok", want: answer{status: 200, bytes: 2}},
}

func TestReadAnswer(t *testing.T) {
	for _, c := range wellFormed {
		for way, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":         func(r io.Reader) io.Reader { return r },
			"byte by byte":  iotest.OneByteReader,
			"end with data": iotest.DataErrReader,
		} {
			br := bufio.NewReaderSize(wrap(strings.NewReader(c.in)), readBufferBytes)
			got, err := readAnswer(br, c.head)
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, way, err)
				continue
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(answer{})); d != "" {
				t.Errorf("%s, %s:\n%s", c.name, way, d)
			}
			if rest, _ := io.Copy(io.Discard, br); rest != int64(c.rest) {
				t.Errorf("%s, %s: %d bytes left, want %d", c.name, way, rest, c.rest)
			}
		}
	}
}

// Every answer cut short is an end of file, wherever it is cut, unless the end of the
// connection is its end.
func TestReadAnswerTruncated(t *testing.T) {
	for _, c := range wellFormed {
		if c.rest > 0 || len(c.in) > 4096 {
			continue
		}
		head := strings.LastIndex(c.in, "\r\n\r\n") + 4
		for n := range len(c.in) {
			a, err := readAnswer(bufio.NewReader(strings.NewReader(c.in[:n])), c.head)
			switch {
			case err == nil && a.close && n >= head && c.want.bytes >= a.bytes && !strings.Contains(c.in, "Length"):
			case n == 0 && err == io.EOF:
			case n > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF &&
				strings.HasPrefix(c.in, "HTTP/1.1 1")):
			default:
				t.Errorf("%s cut at %d: %+v, %v", c.name, n, a, err)
			}
		}
	}
}

func TestReadAnswerMalformed(t *testing.T) {
	head := func(lines string) string { return "HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n" }
	for _, c := range []struct{ name, in string }{
		{"another protocol", "SSH-2.0-OpenSSH_9.9\r\n"},
		{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n"},
		{"version", "HTTP/1.x 200 OK\r\n\r\n"},
		{"no status", "HTTP/1.1\r\n\r\n"},
		{"short status", "HTTP/1.1 20 OK\r\n\r\n"},
		{"long status", "HTTP/1.1 2000 OK\r\n\r\n"},
		{"status is no number", "HTTP/1.1 2x0 OK\r\n\r\n"},
		{"status too small", "HTTP/1.1 099 OK\r\n\r\n"},
		{"empty line first", "\r\n" + okAnswer},
		{"no colon", head("Content-Length 2")},
		{"no name", head(": 2")},
		{"space in front of the colon", head("Content-Length : 2")},
		{"folded first line", head(" X: y")},
		{"folded", head("X: a\r\n b: c")},
		{"folded length", head("Content-Length: 1\r\n 2")},
		{"folded coding", head("Transfer-Encoding:\r\n chunked")},
		{"two lengths", head("Content-Length: 2\r\nContent-Length: 3")},
		{"list of lengths", head("Content-Length: 2, 2")},
		{"negative length", head("Content-Length: -2")},
		{"signed length", head("Content-Length: +2")},
		{"empty length", head("Content-Length:")},
		{"length beyond 63 bits", head("Content-Length: 9223372036854775808")},
		{"other coding", head("Transfer-Encoding: gzip")},
		{"two codings", head("Transfer-Encoding: gzip, chunked")},
		{"coding twice", head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")},
		{"coding in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"101", "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
		{"17 of 1xx", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 17) + okAnswer},
		{"chunk size missing", chunkedHead + "\r\n"},
		{"chunk size", chunkedHead + "3x\r\nabc\r\n"},
		{"chunk size negative", chunkedHead + "-3\r\nabc\r\n"},
		{"chunk size too large", chunkedHead + "7fffffffffffffff\r\nabc\r\n"},
		{"chunk longer than its size", chunkedHead + "3\r\nabcd\r\n0\r\n\r\n"},
		{"line over the buffer", head("X: " + strings.Repeat("y", readBufferBytes))},
		{"status line over the buffer", "HTTP/1.1 200 " + strings.Repeat("y", readBufferBytes)},
		{"endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1<<10)+"\r\n", 1<<10)},
		{"endless trailers", chunkedHead + "0\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1<<10)+"\r\n", 1<<10)},
		{"trailer without a colon", chunkedHead + "0\r\nX\r\n\r\n"},
		{"folded first trailer", chunkedHead + "0\r\n X: y\r\n\r\n"},
		{"endless chunk extension", chunkedHead + "3;" + strings.Repeat("y", readBufferBytes)},
	} {
		_, err := readAnswer(bufio.NewReaderSize(strings.NewReader(c.in), readBufferBytes), false)
		if classify(err) != ClassProtocol {
			t.Errorf("%s: %v; want a malformed answer", c.name, err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: the error is %d bytes long", c.name, len(err.Error()))
		}
	}
}

func TestReadAnswerAllocates(t *testing.T) {
	for name, in := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nConnection: keep-alive\r\n" +
			"Content-Type: text/plain\r\nContent-Length: 12345678\r\n\r\n",
		"chunked": chunkedHead + "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: value\r\n\r\n",
		"early":   "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
	} {
		src := bytes.NewReader([]byte(in))
		br := bufio.NewReaderSize(src, readBufferBytes)
		n := testing.AllocsPerRun(100, func() {
			src.Seek(0, io.SeekStart)
			br.Reset(src)
			if _, err := readAnswer(br, name == "length"); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkReadAnswer(b *testing.B) {
	for name, in := range map[string]string{
		"length":  okAnswer,
		"chunked": chunkedHead + "3\r\nabc\r\n0\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			src := strings.NewReader(in)
			br := bufio.NewReaderSize(src, readBufferBytes)
			for b.Loop() {
				src.Reset(in)
				br.Reset(src)
				if _, err := readAnswer(br, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
