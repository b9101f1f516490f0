//go:build linux

package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"evenkeel.dev/bench/harness"
)

// hold opens the way's idle connections to each replica, past the balancer, because HAProxy would
// keep idle ones for itself. Each has one answer.
func (s *system) hold(ctx context.Context) error {
	n := harness.Unless(s.Run, s.way.idle, min(s.way.idle, 50))
	if err := harness.Files(n*len(s.replicas) + 512); err != nil {
		return harness.NotHere(err)
	}
	dialer := net.Dialer{KeepAlive: -1} // the kernel sends no probes
	for _, r := range s.replicas {
		for range n {
			c, err := dialer.DialContext(ctx, "tcp", r.addr)
			if err != nil {
				return err
			}
			s.idle = append(s.idle, c)
			if err := answered(c, r.addr); err != nil {
				return err
			}
		}
	}
	return nil
}

// answered asks for /stats, because /push would leave garbage.
func answered(c net.Conn, addr string) error {
	if _, err := fmt.Fprintf(c, "GET /stats HTTP/1.1\r\nHost: %s\r\n\r\n", addr); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/stats: %s", addr, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
