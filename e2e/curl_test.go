//go:build unix

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// transfer is a request of curl.
type transfer struct {
	path    string
	options string // lines of curl's configuration; FILE is the file to send
	status  string // default 200
	body    string // of the answer; "": any
	header  string // matches the headers and trailers
	connect bool   // it needs a new connection
	// HTTP/1 alone: curl 7.88 sometimes sends a body again by HTTP/2, with net/http too
	first bool
}

// One curl makes transfers one after the other.
func transfers(s *served, proto string) []transfer {
	trailer := `(?is)Trailer: X-Sum\r.*X-Sum: 4\r`
	if proto == "HTTP/2.0" {
		trailer = `(?i)Trailer: X-Sum\r`
	}
	hello := func(n string) string { return "hello " + n + " by " + proto }
	const waits = "header = \"Expect: 100-continue\"\nexpect100-timeout = 600\ndata-binary = \"@FILE\""
	all := []transfer{
		{path: "/hello?n=1", body: hello("1"), connect: true},
		{path: "/hello?n=2", body: hello("2")},
		{path: "/hello?n=3", body: hello("3")},
		{path: "/file", options: "head", header: `(?i)Content-Length: 1048576\r`},
		{path: "/empty", status: "204"},
		{path: "/redirect", options: "location", body: hello("redirected"), header: ` 302`},
		{path: "/digest", options: `data = "a=b"`, body: "POST " + digest([]byte("a=b"))},
		{path: "/digest", options: "request = PUT\ndata-binary = \"@FILE\"", body: "PUT " + s.digest},
		{
			path: "/moved", options: "location\ndata = \"a=b\"", body: "POST " + digest([]byte("a=b")), header: ` 307`,
			first: true,
		},
		{
			path: "/digest", options: waits, body: "POST " + s.digest,
			header: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK`, first: true,
		},
		{path: "/digest", options: "header = \"Transfer-Encoding: chunked\"\ndata-binary = \"@FILE\"", body: "POST " +
			s.digest, header: `X-Encoding: \[chunked\]`, first: true},
		{
			path: "/file", options: `range = "100-199"`, status: "206", body: string(s.file[100:200]),
			header: `(?i)Content-Range: bytes 100-199/1048576\r`,
		},
		{path: "/file", body: string(s.file)},
		{path: "/trailers", body: "body", header: trailer},
		{path: "/close", body: "closed", header: `Connection: close\r`, first: true},
		{path: "/hello?n=4", body: hello("4"), connect: true, first: true},
		{
			path: "/hello?n=5", options: `header = "Connection: close"`, body: hello("5"),
			header: `Connection: close\r`,
			first:  true,
		},
		{path: "/refuse", options: waits, status: "413", body: "no\n", connect: true, first: true},
		{path: "/hello?n=6", body: hello("6"), connect: true, first: true}, // the refused body was not sent
	}
	return slices.DeleteFunc(all, func(x transfer) bool { return x.first && proto == "HTTP/2.0" })
}

// TestClientsOfCurl tests keep-alive, up- and downloads, 100-continue, chunks, redirects, ranges,
// trailers and ends, by HTTP/1.0, 1.1 and 2, with TLS and without.
func TestClientsOfCurl(t *testing.T) {
	bin := tool(t, "curl", "curl")
	onServers(t, func(t *testing.T, s *served) {
		for _, c := range []struct{ option, url, proto string }{
			{"http1.1", s.plain, "HTTP/1.1"},
			{"http1.1", s.secure, "HTTP/1.1"},
			{"http2-prior-knowledge", s.plain, "HTTP/2.0"},
			{"http2", s.secure, "HTTP/2.0"},
		} {
			t.Run(c.option+strings.TrimRight(c.url, "0123456789"), func(t *testing.T) {
				all := transfers(s, c.proto)
				if c.option == "http2-prior-knowledge" {
					// curl 7.88 cannot use such a connection twice
					for i, x := range all {
						x.connect = true
						if i > 0 && !strings.Contains(x.options, "FILE") && !testutil.Checking() ||
							strings.HasPrefix(x.options, "location") {
							continue
						}
						curl(t, bin, s, c.option, c.url, c.proto, []transfer{x})
					}
				} else {
					curl(t, bin, s, c.option, c.url, c.proto, all)
				}
				curlEvents(t, bin, s, "--"+c.option, c.url)
			})
		}
		// an upgrade that net/http does not know
		curl(t, bin, s, "http2", s.plain, "HTTP/1.1",
			[]transfer{{path: "/hello?n=1", body: "hello 1 by HTTP/1.1", connect: true}})
		curl(t, bin, s, "http1.0", s.plain, "HTTP/1.0", []transfer{
			{path: "/hello?n=1", body: "hello 1 by HTTP/1.0", connect: true},
			{path: "/trailers", body: "body", connect: true},
			{path: "/digest", options: "header = \"Connection: keep-alive\"\ndata-binary = \"@FILE\"", body: "POST " +
				s.digest, header: `Connection: keep-alive\r`, connect: true},
			{path: "/file", options: `header = "Connection: keep-alive"`, body: string(s.file)},
		})
	})
}

func curl(t *testing.T, bin string, s *served, option, url, proto string, transfers []transfer) {
	t.Helper()
	dir := t.TempDir()
	var config, want strings.Builder
	for i, x := range transfers {
		if i > 0 {
			fmt.Fprintln(&config, "next")
		}
		fmt.Fprintf(&config, "url = %q\n%s\nsilent\nshow-error\ncacert = %q\n"+
			"output = \"%s/body%d\"\ndump-header = \"%s/head%d\"\n%s\n",
			url+x.path, option, s.cert, dir, i, dir, i, strings.ReplaceAll(x.options, "FILE", s.path))
		fmt.Fprintln(&config, `write-out = "%{http_code} HTTP/%{http_version} %{num_connects}\n"`)
		status, connects := x.status, 0
		if status == "" {
			status = "200"
		}
		if x.connect {
			connects = 1
		}
		fmt.Fprintf(&want, "%s %s %d\n", status, strings.TrimSuffix(proto, ".0"), connects)
	}
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := out(t, bin, "--disable", "--config", path); said != want.String() {
		t.Errorf("curl says\n%s, want\n%s", said, want.String())
	}
	for i, x := range transfers {
		body, err := os.ReadFile(fmt.Sprintf("%s/body%d", dir, i))
		if x.body != "" && (err != nil || string(body) != x.body) {
			t.Errorf("%s: %d bytes, %.100q, %v", x.path, len(body), body, err)
		}
		head, err := os.ReadFile(fmt.Sprintf("%s/head%d", dir, i))
		if err != nil || !regexp.MustCompile(x.header).Match(head) {
			t.Errorf("%s: the headers have no %s: %q, %v", x.path, x.header, head, err)
		}
	}
}

func curlEvents(t *testing.T, bin string, s *served, option, url string) {
	t.Helper()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bin, "--disable", "-sSN", "--cacert", s.cert, option, url+"/events?stream="+
		t.Name())
	cmd.Stderr = &complaint
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(from); lines.Scan(); {
		if lines.Text() == fmt.Sprintf("data: %d", n) {
			n++
			s.seen(t.Name())
		}
	}
	if err := cmd.Wait(); n != 3 || err != nil {
		t.Errorf("%d events, %v: %s", n, err, complaint.String())
	}
}
