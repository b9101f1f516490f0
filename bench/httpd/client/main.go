//go:build linux

// Command client loads a server of package httpd's cases. Connections ask one thing after the other
// (-load closed), connect at once and ask once (burst), ask once and stay (hold), or ask during
// what -crowd does (beside). It prints values by figure in JSON.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/bench/machine"
)

type values map[string]float64

type client struct {
	addr    string
	request []byte
	pid     int
	tls     *tls.Config
	url     string // of HTTP/2; "": HTTP/1.1
	failed  atomic.Int64
}

type end struct {
	net.Conn
	r *bufio.Reader
}

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "", "the server's `address`")
	pid := flag.Int("pid", 0, "the server's process")
	load := flag.String("load", "closed", "closed, burst, hold or beside")
	path := flag.String("path", "/hello", "what is asked for")
	rests := flag.Duration("rests", 0, "closed: nine of ten connections rest for so long after each answer")
	conns := flag.Int("conns", 100, "connections")
	warmup := flag.Duration("warmup", 300*time.Millisecond, "before what is measured")
	length := flag.Duration("length", 2*time.Second, "of what is measured")
	overTLS := flag.Bool("tls", false, "speak TLS")
	classic := flag.Bool("classic", false, "with -tls: offer no key of ML-KEM, as older clients do")
	h2 := flag.Bool("h2", false, "hold: speak HTTP/2")
	crowd := flag.String("crowd", "", "what the crowd does: "+strings.Join(slices.Sorted(maps.Keys(crowds)), ", "))
	flag.Parse()
	c := &client{addr: *addr, request: request(*path), pid: *pid}
	if *overTLS {
		c.tls = &tls.Config{InsecureSkipVerify: true}
		if *classic {
			c.tls.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
		}
	}
	if *h2 {
		c.url = "http://" + *addr + *path
		if *overTLS {
			c.tls.NextProtos = []string{"h2"}
			c.url = "https://" + *addr + *path
		}
	}
	var v values
	var err error
	switch *load {
	case "closed":
		v, err = c.closed(*conns, *rests, *warmup, *length)
	case "burst":
		v, err = c.burst(*conns)
	case "hold":
		v, err = c.hold(*conns)
	case "beside":
		v, err = c.beside(*crowd, *conns, *warmup, *length)
	default:
		err = fmt.Errorf("-load %s is not known: it is closed, burst, hold or beside", *load)
	}
	if err == nil {
		v["unanswered"] = float64(c.failed.Load())
		err = json.NewEncoder(os.Stdout).Encode(v)
	}
	if err != nil {
		log.Fatal("client: ", err)
	}
}

func request(path string) []byte { return []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\n\r\n") }

func (c *client) dial() (*end, error) {
	network := "tcp4"
	if strings.HasPrefix(c.addr, "/") {
		network = "unix"
	}
	nc, err := net.Dial(network, c.addr)
	if err != nil {
		return nil, err
	}
	if c.tls != nil {
		nc = tls.Client(nc, c.tls)
	}
	return &end{nc, bufio.NewReader(nc)}, nil
}

func (c *client) ask(e *end) error {
	if _, err := e.Write(c.request); err != nil {
		return err
	}
	return readAnswer(e.r)
}

func readAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("the answer begins with %.60q", line)
		}
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("the answer has no Content-Length")
	}
	_, err := r.Discard(length)
	return err
}

func (c *client) askHTTP2(e *end) error {
	if t, ok := e.Conn.(*tls.Conn); ok {
		if err := t.Handshake(); err != nil {
			return err
		}
	}
	give := func(context.Context, string, string) (net.Conn, error) { return e.Conn, nil }
	t := &http.Transport{Protocols: new(http.Protocols), DialContext: give, DialTLSContext: give}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	req, err := http.NewRequest(http.MethodGet, c.url, nil)
	if err != nil {
		return err
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s", res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

func (c *client) closed(conns int, rests, warmup, length time.Duration) (values, error) {
	ends, err := c.gather(conns, nil)
	if err != nil {
		return nil, err
	}
	for _, e := range ends {
		defer e.Close()
	}
	from := time.Now().Add(warmup)
	until := from.Add(length)
	took := make([][]time.Duration, conns)
	var running sync.WaitGroup
	for i, e := range ends {
		running.Go(func() {
			for sent, first := time.Now(), true; first || sent.Before(until); first = false {
				if err := c.ask(e); err != nil {
					c.failed.Add(1)
					return
				}
				now := time.Now()
				if !sent.Before(from) && now.Before(until) {
					took[i] = append(took[i], now.Sub(sent))
				}
				if sent = now; rests > 0 && i%10 > 0 {
					time.Sleep(rests)
					sent = time.Now()
				}
			}
		})
	}
	time.Sleep(time.Until(from))
	before, err := machine.CPUTime(c.pid)
	if err != nil {
		return nil, err
	}
	own := machine.OwnTime()
	time.Sleep(time.Until(until))
	after, err := machine.CPUTime(c.pid)
	own = machine.OwnTime() - own
	running.Wait()
	return result(slices.Concat(took...), length, after-before, own), err
}

func (c *client) hold(conns int) (values, error) {
	var ends []*end
	err := machine.Hold(conns, func(n int) error {
		for range n {
			e, err := c.dial()
			if err == nil && c.url != "" {
				err = c.askHTTP2(e)
			} else if err == nil {
				err = c.ask(e)
			}
			if err != nil {
				c.failed.Add(1)
				continue
			}
			ends = append(ends, e)
		}
		return nil
	})
	for _, e := range ends {
		_ = e.Close()
	}
	return values{}, err
}

func result(took []time.Duration, passed, cpu, own time.Duration) values {
	v := values{"client cores": own.Seconds() / passed.Seconds()}
	if len(took) == 0 {
		return v
	}
	n := float64(len(took))
	v["requests/s"] = n / passed.Seconds()
	v["CPU µs/request"] = cpu.Seconds() * 1e6 / n
	slices.Sort(took)
	for name, q := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999} {
		v[name] = took[min(len(took)-1, int(q*n))].Seconds() * 1e3
	}
	return v
}
