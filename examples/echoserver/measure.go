//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"evenkeel.dev/examples/child"
	"evenkeel.dev/examples/internal/idle"
)

const (
	warmUp    = 10 // connections that pay for what all share
	answerEnd = time.Minute
)

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// measure has another process open the connections, and says what one of them holds here.
func (v *service) measure(ctx context.Context, addr string) error {
	few, err := v.clients(ctx, addr, warmUp)
	if err != nil {
		return err
	}
	defer few.Kill()
	before := idle.Read()
	many, err := v.clients(ctx, addr, v.settings.n)
	if err != nil {
		return err
	}
	defer many.Kill()
	after := idle.Read()
	resident, heap, stack, _ := before.Each(after, v.settings.n)
	v.log.Info("idle", "connections", v.settings.n, "goroutines", after.Goroutines,
		"rss_bytes_each", int64(resident), "heap_bytes_each", int64(heap), "stack_bytes_each", int64(stack))
	return nil
}

var ready = regexp.MustCompile(`^(ready)$`)

// clients returns when each of n connections has had its echo.
func (v *service) clients(ctx context.Context, addr string, n int) (*child.Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return child.Start(ctx, child.Options{
		Args:         []string{program, "-load", "-addr", addr, "-n", strconv.Itoa(n)},
		Ready:        ready,
		ReadyTimeout: 10 * time.Minute,
	})
}

// load opens connections, has each echo a message, says ready, and keeps them.
func load(ctx context.Context, s settings, stdout io.Writer) error {
	conns, err := idle.Open(ctx, s.n, func(ctx context.Context) (net.Conn, error) { return greet(ctx, s.addr) })
	defer idle.Close(conns)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func greet(ctx context.Context, addr string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true}) // the server is this program
	c.SetDeadline(time.Now().Add(answerEnd))
	message, answer := []byte("to and fro"), make([]byte, 10)
	_, err = c.Write(message)
	if err == nil {
		_, err = io.ReadFull(c, answer)
	}
	if err == nil && !bytes.Equal(answer, message) {
		err = fmt.Errorf("the echo of %q is %q", message, answer)
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return c, nil
}
