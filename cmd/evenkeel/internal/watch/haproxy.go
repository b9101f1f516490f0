package watch

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/internal/textfmt"
)

// haproxy asks for servers in DRAIN (HAProxy 2.6 management.txt, 9.1 and 9.3).
type haproxy struct{ network, addr, backend string }

type drainedServer struct {
	Server     string `json:"server"` // BACKEND/SERVER
	Addr       string `json:"addr"`
	LeftBehind bool   `json:"left_behind"`
	looks      int    // in a row
}

func parseHAProxy(text string) (*haproxy, error) {
	addr, backend, ok := strings.Cut(text, ",")
	if !ok || addr == "" || backend == "" || strings.ContainsAny(backend, " ;/\n") {
		return nil, fmt.Errorf("%q: write ADDR,BACKEND, for example 127.0.0.1:9199,be", text)
	}
	s := &haproxy{"tcp", addr, backend}
	if path := strings.TrimPrefix(addr, "unix:"); path != addr || strings.HasPrefix(addr, "/") {
		s.network, s.addr = "unix", path
	} else if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return nil, fmt.Errorf("%q is no address: write 127.0.0.1:9199 or unix:/run/haproxy.sock", addr)
	}
	return s, nil
}

func (s *haproxy) drained(ctx context.Context) ([]drainedServer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, s.network, s.addr)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the stats socket: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	// Type 4 is servers, and -1 any of them.
	if _, err := io.WriteString(conn, "show stat "+s.backend+" 4 -1\n"); err != nil {
		return nil, err
	}
	return parseDrained(io.LimitReader(conn, gatestats.MaxBytes), s.backend)
}

var errNoTable = errors.New("no statistics in the answer; check the stats socket and the backend's name")

func parseDrained(in io.Reader, backend string) (drained []drainedServer, err error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if err != nil || len(head) == 0 || head[0] != "# pxname" {
		return nil, errNoTable
	}
	head[0] = "pxname"
	servers := 0
	for {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("HAProxy's statistics: %w", err)
		}
		at := func(column string) string {
			if i := slices.Index(head, column); i >= 0 && i < len(fields) {
				return textfmt.Visible(fields[i], 255)
			}
			return ""
		}
		if at("pxname") != backend {
			continue
		}
		servers++
		if strings.HasPrefix(at("status"), "DRAIN") { // "DRAIN (agent)"
			drained = append(drained, drainedServer{Server: backend + "/" + at("svname"), Addr: at("addr")})
		}
	}
	if servers == 0 {
		return nil, errNoTable
	}
	return drained, nil
}
