package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// errUnsent is why a due request was not sent.
var errUnsent = errors.New("due, but no connection was free in time: the rate is more than the service takes over these connections")

// Class is a kind of failure.
type Class string

// The classes of failure, from the wire up.
const (
	ClassDNS      Class = "dns"      // the host's name did not resolve
	ClassRefused  Class = "refused"  // nobody listens
	ClassConnect  Class = "connect"  // any other failure to connect
	ClassTLS      Class = "tls"      // the handshake failed
	ClassTimeout  Class = "timeout"  // not answered within Options.Timeout
	ClassReset    Class = "reset"    // the peer reset the connection, or the stream
	ClassClosed   Class = "closed"   // the peer closed it before the answer was whole
	ClassProtocol Class = "protocol" // the answer is not HTTP
	// open loop: due, but no connection was free for Options.Drain after the last was due
	ClassUnsent Class = "unsent"
	ClassOther  Class = "other"

	// ClassGenerator is a failure to connect because the load generator's machine or process lacks
	// descriptors, ports or buffers.
	ClassGenerator Class = "generator"
)

// generatorErrors mean that this machine, and not the service, refuses a connection.
var generatorErrors = []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM}

// waited reports whether the histograms have a failure, because it only took too long.
func (c Class) waited() bool { return c == ClassTimeout || c == ClassUnsent }

// dialError marks an error of connecting. The class is ClassConnect or ClassTLS.
type dialError struct {
	error
	class Class
}

func (e dialError) Unwrap() error { return e.error }

func classify(err error) Class {
	var dns *net.DNSError
	var dial dialError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case slices.ContainsFunc(generatorErrors, func(target error) bool { return errors.Is(err, target) }):
		return ClassGenerator
	case errors.As(err, &dns):
		return ClassDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return ClassTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassRefused
	case errors.As(err, &dial):
		return dial.class
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &cert), errors.As(err, &unknown):
		return ClassTLS
	case errors.As(err, &op) && op.Op == "dial": // a Transport's
		return ClassConnect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, errReset):
		return ClassReset
	case errors.Is(err, errMalformed):
		return ClassProtocol
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, errGoAway):
		return ClassClosed
	case errors.Is(err, errUnsent):
		return ClassUnsent
	case errors.Is(err, errProtocol):
		return ClassProtocol
	}
	return ClassOther
}
