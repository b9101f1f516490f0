package loadgen

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oracle reads an answer with net/http, passing over 1xx as a Transport does.
func oracle(in []byte, head bool) (a answer, err error) {
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	br := bufio.NewReaderSize(bytes.NewReader(in), readBufferBytes)
	for {
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return a, err
		}
		a.bytes, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		a.status, a.close = resp.StatusCode, resp.Close
		if err != nil || a.status < 100 || a.status > 199 || a.status == 101 {
			return a, err
		}
	}
}

// tolerated names why an answer that net/http refuses is accepted on purpose, "" if it is not.
// The load generator measures services, it does not judge them, where the framing is clear.
func tolerated(err error) string {
	for part, why := range map[string]string{
		"malformed MIME header line":      "bytes that HTTP forbids, which do not matter to the framing",
		"cannot contain multiple Content": "the same length written in two ways, as 3 and 03",
		"bare LF":                         "line feeds alone between chunks, as between headers",
		"invalid CR in chunked line":      "a carriage return within a chunk extension",
		"malformed chunked encoding":      "a line feed alone behind a chunk",
		"too much non-data":               "long chunk extensions: they are bounded by the line",
		"invalid byte in chunk length":    "space in front of a chunk extension (RFC 9112, 7.1.1)",
		"chunk length too large":          "more than 16 digits with zeros in front",
		"unexpected EOF reading trailer":  "line feeds alone in trailers, as between headers",
		"suspiciously long trailer":       "trailers, which are bounded as the head is",
		"bad trailer key":                 "a Trailer field that announces what may be none: nobody reads trailers",
		"line too long":                   "a chunk's line of 4 KB to 16 KB",
	} {
		if strings.Contains(err.Error(), part) {
			return why
		}
	}
	return ""
}

func FuzzReadAnswer(f *testing.F) {
	for _, c := range wellFormed {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in), c.head)
		}
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 03\r\n\r\nabc"), false)
	f.Add([]byte(chunkedHead+"1\na\n0\n\n"), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTrailer: Trailer\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\nabc"), false)
	f.Fuzz(func(t *testing.T, in []byte, head bool) {
		br := bufio.NewReaderSize(bytes.NewReader(in), readBufferBytes)
		got, err := readAnswer(br, head)
		slow, slowErr := readAnswer(bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(in)), readBufferBytes),
			head)
		if got != slow || (err == nil) != (slowErr == nil) {
			t.Fatalf("whole: %+v, %v; byte by byte: %+v, %v", got, err, slow, slowErr)
		}
		if err != nil {
			return
		}
		if got.status < 100 || got.status > 999 || got.bytes < 0 || got.bytes > int64(len(in)) {
			t.Fatalf("%+v", got)
		}
		want, err := oracle(in, head)
		if err != nil {
			if tolerated(err) == "" {
				t.Fatalf("accepted %+v; net/http: %v", got, err)
			}
			return
		}
		if head {
			want.close = got.close // net/http closes after HEAD without a length; it need not
		}
		if got != want {
			t.Fatalf("got %+v; net/http: %+v", got, want)
		}
	})
}

func FuzzTarget(f *testing.F) {
	f.Add("GET", "http://127.0.0.1:8080/a/b?c=d", "X-Header", "value", []byte(nil))
	f.Add("POST", "https://example.com", "content-type", "text/plain", []byte("body"))
	f.Add("", "http://[fe80::1%25eth0]:80/%2f?a+b#c", "Host", "other:81", []byte("x"))
	f.Add("get", "http://h/?a b", "X", "a\r\nb: c", []byte("x"))
	f.Add("OPTIONS", "http://h//../x", "User-Agent", "", []byte{0})
	f.Fuzz(func(t *testing.T, method, rawURL, key, value string, body []byte) {
		target := Target{Method: method, URL: rawURL, Header: http.Header{key: {value}}, Body: body}
		r, h, err := target.prepare(false)
		if err != nil {
			if len(err.Error()) == 0 {
				t.Fatal("an error without a text")
			}
			return
		}
		back, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.wire)))
		if err != nil {
			t.Fatalf("%q: %v", r.wire, err)
		}
		if method == "" {
			method = "GET"
		}
		u, err := url.Parse(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		if back.Method != method || back.RequestURI != u.RequestURI() {
			t.Errorf("%s %s became %s %s", method, u.RequestURI(), back.Method, back.RequestURI)
		}
		if strings.EqualFold(key, "host") {
			if value != "" && back.Host != value && isASCII(value) && !strings.Contains(value, "%") {
				t.Errorf("Host %q became %q", value, back.Host)
			}
		} else if got := back.Header.Get(key); got != value && !(value == "" && strings.EqualFold(key, "User-Agent")) {
			t.Errorf("%s: %q became %q", key, value, got)
		}
		if got, err := io.ReadAll(back.Body); err != nil || !bytes.Equal(got, body) {
			t.Errorf("body %q became %q, %v", body, got, err)
		}
		if h.addr == "" || strings.HasPrefix(h.addr, ":") {
			t.Errorf("address %q", h.addr)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 126 })
}

// FuzzHistogramText: whatever was decoded can be asked and encoded again.
func FuzzHistogramText(f *testing.F) {
	var h Histogram
	for i := range int64(100) {
		h.Record(time.Duration(i * i * 1e6))
	}
	b, _ := h.MarshalText()
	f.Add(b)
	f.Add([]byte{})
	f.Add([]byte("HISTFAAAAAB42pNpmSzMwMBgygABTBDKT4GBgdnNYMcCBvsPEBEGCgA6eAKB"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Histogram
		if h.UnmarshalText(in) != nil {
			if h.Count() != 0 {
				t.Fatal("an error, and a histogram")
			}
			return
		}
		for _, q := range []float64{-1, 0, .5, 1, 2} {
			h.Quantile(q)
		}
		_, _ = h.Max(), h.Mean()
		var n int64
		for _, c := range h.All() {
			n += c
		}
		if n != h.Count() {
			t.Errorf("All counts %d, Count %d", n, h.Count())
		}
		var sum Histogram
		sum.Merge(&h)
		if sum.Count() != h.Count() {
			t.Errorf("merged %d of %d", sum.Count(), h.Count())
		}
		b, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Histogram
		if err := again.UnmarshalText(b); err != nil || again.Count() != h.Count() || again.Max() != h.Max() {
			t.Errorf("again: %v, %d of %d", err, again.Count(), h.Count())
		}
	})
}

// handlers are the shapes that answers of net/http's server take.
var handlers = map[string]http.HandlerFunc{
	"/empty":   func(w http.ResponseWriter, r *http.Request) {},
	"/hello":   answerOK,
	"/missing": http.NotFound,
	"/broken": func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "broken",
			http.StatusInternalServerError)
	},
	"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/hello", http.StatusFound) },
	"/none":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"/same":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotModified) },
	"/odd":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(799); io.WriteString(w, "odd") },
	"/large": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<18)) },
	"/sized": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "70000")
		io.WriteString(w, strings.Repeat("x", 70000))
	},
	"/chunks": func(w http.ResponseWriter, r *http.Request) {
		for i := range 20 {
			io.WriteString(w, strings.Repeat("x", i*i*7))
			w.(http.Flusher).Flush()
		}
	},
	"/trailers": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "1")
	},
	"/hints": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		for range 3 {
			w.WriteHeader(http.StatusEarlyHints)
		}
		io.WriteString(w, "hinted")
	},
	"/close": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "closing")
	},
	"/plain": func(w http.ResponseWriter, r *http.Request) { // to the end of the connection
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nas long as it lasts")
			c.Close()
		}
	},
	"/headers": func(w http.ResponseWriter, r *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("y", 100))
		}
	},
	"/gzip": func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			io.WriteString(z, strings.Repeat("x", 10000))
			return
		}
		io.WriteString(w, strings.Repeat("x", 10000))
	},
	"/echo": func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	},
	// body unread
	"/reject": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) },
}

// The built-in client and net/http's see the same answers.
func TestAsNetHTTP(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/reject" && r.URL.Path != "/echo" {
			io.Copy(io.Discard, r.Body)
		}
		handlers[r.URL.Path](w, r)
	})
	type seen struct {
		Statuses map[int]int64
		Bytes    int64
		Failed   int64
	}
	for path := range handlers {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			if method == "HEAD" && path == "/plain" {
				continue // a body behind the answer to HEAD is the handler's fault
			}
			var want seen
			for i, o := range []Options{
				{Transport: &http.Transport{}},
				{},
				{Rate: 2000},
				{DisableKeepAlive: true},
				{Rate: 2000, Transport: &http.Transport{}},
			} {
				if o.DisableKeepAlive && path == "/reject" {
					continue // closing with a body unread can reset the connection before the answer is read
				}
				o.Targets = []Target{{Method: method, URL: srv.URL + path}}
				if method == "POST" {
					o.Targets[0].Body = []byte(strings.Repeat("z", 20000))
				}
				o.Requests, o.Connections = 6, 3
				r := run(t, o)
				got := seen{r.Statuses, r.Bytes, r.Failed}
				if i == 0 {
					want = got
				}
				if d := cmp.Diff(want, got); d != "" || got.Failed != 0 {
					t.Errorf("%s %s, rate %v, transport %v: %v\n%s", method, path, o.Rate, o.Transport != nil,
						r.Failures, d)
				}
				if tr, ok := o.Transport.(*http.Transport); ok {
					tr.CloseIdleConnections()
				}
			}
		}
	}
}
