//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/examples/internal/program"
)

// number returns the number of the next line.
func number(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscan(line, &n); err != nil {
		t.Fatalf("%.40q: %v", line, err)
	}
	return n
}

// TestPushserver: somebody who never reads does not delay the others, and has a bounded backlog.
func TestPushserver(t *testing.T) {
	path := program.Build(t)
	for _, slow := range []string{"drop", "disconnect"} {
		t.Run(slow, func(t *testing.T) {
			// The kernel buffers some megabytes of a connection: lines are large.
			p := program.Start(t, path, "-every", "20ms", "-size", "262144", "-backlog", "60", "-slow", slow)
			never := p.Dial()
			if err := never.SetReadBuffer(64 << 10); err != nil {
				t.Fatal(err)
			}
			readers := []*bufio.Reader{bufio.NewReader(p.Dial()), bufio.NewReader(p.Dial())}
			var last [2]int
			for i, r := range readers {
				last[i] = number(t, r)
			}
			for range 120 { // 30 MB: more than the one who never reads can have
				for i, r := range readers {
					n := number(t, r)
					if n != last[i]+1 {
						t.Fatalf("reader %d: line %d follows line %d", i, n, last[i])
					}
					last[i] = n
				}
			}
			lines, err := 0, error(nil)
			for r := bufio.NewReader(never); lines < 110 && err == nil; lines++ {
				_, err = r.ReadString('\n')
			}
			if slow == "disconnect" && err == nil {
				t.Error("who never reads was not disconnected")
			}
			if slow == "drop" && err != nil {
				t.Errorf("who did not read: %v after %d lines", err, lines)
			}
			never.Close()
			for _, c := range readers {
				go io.Copy(io.Discard, c)
			}
			log := p.Stop(syscall.SIGTERM)
			if !strings.Contains(log, "msg=stopped") || slow == "drop" == strings.Contains(log, "dropped=0") || slow == "disconnect" != strings.Contains(log, "disconnected=1") {
				t.Errorf("the log ends so:\n%s", log)
			}
		})
	}
}

func TestPushserverRefuses(t *testing.T) {
	path := program.Build(t)
	program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "7001")
	program.Refuses(t, path, 2, "-every 0s: it must be a millisecond or more", "-every", "0s")
	program.Refuses(t, path, 2, "-backlog 0: it must be 1 to 65536", "-backlog", "0")
	program.Refuses(t, path, 2, "-size -1: it must be 0 to 1048576", "-size", "-1")
	program.Refuses(t, path, 2, "-slow wait: it must be drop or disconnect", "-slow", "wait")
	program.Refuses(t, path, 2, `no backend "poll"`, "-backend", "poll")
	p := program.Start(t, path)
	program.Refuses(t, path, 1, "address already in use; choose another address with -addr", "-addr", p.Addr)
	p.Stop(syscall.SIGINT)
}
