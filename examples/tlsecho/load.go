//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialers   = 32 // at once
	answerEnd = time.Minute
)

// load opens connections, has each echo a message, says ready, and keeps them until ctx is done.
func load(ctx context.Context, s settings, stdout io.Writer) error {
	der, err := base64.StdEncoding.DecodeString(s.load)
	if err != nil {
		return fmt.Errorf("-load: the certificate is not base64: %w", err)
	}
	own, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("-load: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: own.DNSNames[0]}
	config.RootCAs.AddCert(own)

	conns, failed := make([]*tls.Conn, s.n), make([]error, dialers)
	var next atomic.Int64
	var all sync.WaitGroup
	for worker := range failed {
		all.Go(func() {
			for ctx.Err() == nil && failed[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= s.n {
					return
				}
				conns[i], failed[worker] = greet(ctx, s.addr, config)
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	<-ctx.Done()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	return nil
}

// greet opens a connection, and has it echo a message.
func greet(ctx context.Context, addr string, config *tls.Config) (*tls.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, config)
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
