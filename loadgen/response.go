package loadgen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	maxHeaderBytes   = 1 << 20
	maxInformational = 16 // 1xx answers before the final one
)

var errProtocol = errors.New("malformed HTTP/1.1 answer")

type answer struct {
	status int
	bytes  int64 // of body
	close  bool  // the connection cannot be used again
}

// readAnswer reads one response without its body (RFC 9112, sections 4, 6 and 7). It allocates
// nothing for a well-formed answer with a length or in chunks.
func readAnswer(br *bufio.Reader, head bool) (answer, error) {
	for range maxInformational + 1 {
		a, f, err := readHead(br)
		if err != nil {
			return a, err
		}
		if a.status >= 100 && a.status < 200 && a.status != 101 {
			continue
		}
		a.bytes, err = f.discardBody(br, &a, head)
		return a, err
	}
	return answer{}, fmt.Errorf("%w: more than %d informational answers", errProtocol, maxInformational)
}

type framing struct {
	length    int64 // -1: not given
	chunked   bool
	close     bool
	keepAlive bool
}

func readHead(br *bufio.Reader) (answer, framing, error) {
	a, f := answer{}, framing{length: -1}
	left := maxHeaderBytes
	line, err := readLine(br, &left)
	if err != nil {
		return a, f, err
	}
	// HTTP/1.x SP 3DIGIT
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[7] < '0' || line[7] > '9' ||
		line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return a, f, fmt.Errorf("%w: status line %.40q", errProtocol, line)
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return a, f, fmt.Errorf("%w: status line %.40q", errProtocol, line)
		}
		a.status = a.status*10 + int(c-'0')
	}
	if a.status < 100 {
		return a, f, fmt.Errorf("%w: status %d", errProtocol, a.status)
	}
	old := line[7] == '0'
	for {
		line, err := readLine(br, &left)
		if err != nil {
			return a, f, unexpected(err)
		}
		if len(line) == 0 {
			break
		}
		if err := f.header(line); err != nil {
			return a, f, err
		}
	}
	if old && f.chunked { // RFC 9112, 6.1
		return a, f, fmt.Errorf("%w: Transfer-Encoding in HTTP/1.0", errProtocol)
	}
	a.close = f.close || old && !f.keepAlive
	return a, f, nil
}

// colon returns where the name of a header line ends, or -1. Folded lines have none (obsolete: RFC
// 9112, 5.2).
func colon(line []byte) int {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || line[0] == ' ' || line[0] == '\t' || line[i-1] == ' ' || line[i-1] == '\t' {
		return -1
	}
	return i
}

// header takes the three fields that matter.
func (f *framing) header(line []byte) error {
	i := colon(line)
	if i < 0 {
		return fmt.Errorf("%w: header line %.40q", errProtocol, line)
	}
	name, value := line[:i], bytes.Trim(line[i+1:], " \t")
	switch {
	case asciiEqualFold(name, "content-length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || f.length >= 0 && f.length != int64(n) {
			return fmt.Errorf("%w: Content-Length %.40q", errProtocol, value)
		}
		f.length = int64(n)
	case asciiEqualFold(name, "transfer-encoding"):
		if f.chunked || !asciiEqualFold(value, "chunked") {
			return fmt.Errorf("%w: Transfer-Encoding %.40q", errProtocol, value)
		}
		f.chunked = true
	case asciiEqualFold(name, "connection"):
		for part := range bytes.SplitSeq(value, []byte(",")) {
			part = bytes.Trim(part, " \t")
			f.close = f.close || asciiEqualFold(part, "close")
			f.keepAlive = f.keepAlive || asciiEqualFold(part, "keep-alive")
		}
	}
	return nil
}

func (f *framing) discardBody(br *bufio.Reader, a *answer, head bool) (int64, error) {
	switch {
	case a.status == 101:
		return 0, fmt.Errorf("%w: 101 Switching Protocols was not asked for", errProtocol)
	case head || a.status == 204 || a.status == 304:
		return 0, nil
	case f.chunked:
		return discardChunks(br)
	case f.length >= 0:
		n, err := discard(br, f.length)
		return n, unexpected(err)
	}
	a.close = true
	n, err := io.Copy(io.Discard, br)
	return n, err
}

func discardChunks(br *bufio.Reader) (total int64, err error) {
	left := maxHeaderBytes
	for {
		line, err := readLine(br, &left)
		if err != nil {
			return total, unexpected(err)
		}
		left = maxHeaderBytes
		if i := bytes.IndexByte(line, ';'); i >= 0 { // skip extensions
			line = line[:i]
		}
		n, err := strconv.ParseUint(string(bytes.TrimRight(line, " \t")), 16, 62)
		if err != nil {
			return total, fmt.Errorf("%w: chunk size %.40q", errProtocol, line)
		}
		if n == 0 {
			break
		}
		m, err := discard(br, int64(n))
		total += m
		if err != nil {
			return total, unexpected(err)
		}
		if line, err = readLine(br, &left); err != nil {
			return total, unexpected(err)
		} else if len(line) != 0 {
			return total, fmt.Errorf("%w: a chunk is longer than its size says", errProtocol)
		}
	}
	for { // trailers
		line, err := readLine(br, &left)
		if err != nil {
			return total, unexpected(err)
		}
		if len(line) == 0 {
			return total, nil
		}
		if colon(line) < 0 {
			return total, fmt.Errorf("%w: trailer line %.40q", errProtocol, line)
		}
	}
}

func discard(br *bufio.Reader, n int64) (int64, error) {
	var done int64
	for done < n {
		m, err := br.Discard(int(min(n-done, 1<<30)))
		done += int64(m)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// readLine returns a line without its end, valid until the next read. left is the rest of the
// head's limit.
func readLine(br *bufio.Reader, left *int) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	*left -= len(line)
	if err == bufio.ErrBufferFull || *left < 0 {
		return nil, fmt.Errorf("%w: a head line of over %d bytes, or a head of over %d", errProtocol, br.Size(),
			maxHeaderBytes)
	}
	if err != nil {
		if len(line) > 0 {
			err = unexpected(err)
		}
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// asciiEqualFold compares equal lengths, because a letter beyond ASCII that folds into it is longer.
func asciiEqualFold(a []byte, lower string) bool {
	return len(a) == len(lower) && bytes.EqualFold(a, []byte(lower))
}
