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
	"time"
)

// Result is what a run measured. Its histograms include failures of ClassTimeout and ClassUnsent.
type Result struct {
	Targets     []string      `json:"targets"`                // "GET http://...", the first 100
	MoreTargets int           `json:"more_targets,omitempty"` // not in Targets
	Connections int           `json:"connections"`
	Protocol    Protocol      `json:"protocol,omitempty"` // empty with Options.Transport or Call
	Streams     int           `json:"streams,omitempty"`  // per HTTP/2 connection
	Rate        float64       `json:"rate,omitempty"`     // mean of what was asked for; 0: closed loop
	Arrivals    Arrivals      `json:"arrivals,omitempty"`
	Seed        uint64        `json:"seed,omitempty"` // of ArrivalsPoisson
	Stages      []Stage       `json:"stages,omitempty"`
	Timeout     time.Duration `json:"timeout_ns"`
	Warmup      time.Duration `json:"warmup_ns,omitempty"`

	Started     time.Time     `json:"started"`     // when measuring began
	Duration    time.Duration `json:"duration_ns"` // from the first measured request to the last answer
	Interrupted bool          `json:"interrupted,omitempty"`

	// Unfinished requests of an interrupted run were due and had no answer. UnfinishedMax is the
	// longest that one had waited. No other figure has them.
	Unfinished    int64         `json:"unfinished,omitempty"`
	UnfinishedMax time.Duration `json:"unfinished_max_ns,omitempty"`

	Answered int64         `json:"answered"`
	Failed   int64         `json:"failed"`
	Statuses map[int]int64 `json:"statuses,omitempty"` // empty with Options.Call
	Failures []Failure     `json:"failures,omitempty"` // by class, most first
	Bytes    int64         `json:"body_bytes"`         // of the bodies, which a Transport may have decompressed
	// Connects counts connections since the start of warm-up. With Options.Transport it is 0.
	Connects int64 `json:"connects"`

	// Latency counts from the time due in the open loop, and from sending or connecting in the
	// closed loop.
	Latency Histogram `json:"latency"`

	// Open loop only.
	Service Histogram     `json:"service,omitzero"` // from sending, without ClassUnsent
	Late    int64         `json:"late,omitempty"`   // sent over LateAfter after they were due
	LateMax time.Duration `json:"late_max_ns,omitempty"`

	// Pacer is how late the load generator itself released each request.
	Pacer Histogram `json:"pacer,omitzero"`

	Overload *Overload `json:"overload,omitempty"` // nil: none

	// Classes are in the order of the targets. One class alone is not listed.
	Classes []TargetClass `json:"classes,omitempty"`

	Series Series `json:"series"`
}

const listedTargets = 100

// TargetClass has the figures of one class. They mean what those of Result mean.
type TargetClass struct {
	Name     string        `json:"name"`
	Share    float64       `json:"share"` // of the requests by weight, 0 to 1
	Answered int64         `json:"answered"`
	Failed   int64         `json:"failed"`
	Statuses map[int]int64 `json:"statuses,omitempty"`
	Failures []Failure     `json:"failures,omitempty"`
	Bytes    int64         `json:"body_bytes"`
	Latency  Histogram     `json:"latency"`
}

// LateAfter is how long after it was due a request counts as late. Latency counts from the time due
// anyway.
const LateAfter = time.Millisecond

// Failure counts the failures of one class.
type Failure struct {
	Class   Class  `json:"class"`
	Count   int64  `json:"count"`
	Example string `json:"example"` // text of the first
}

// Requests is the number of measured requests that were answered or failed.
func (r *Result) Requests() int64 { return r.Answered + r.Failed }

// FailedBy returns how many requests failed in this way.
func (r *Result) FailedBy(c Class) int64 {
	for _, f := range r.Failures {
		if f.Class == c {
			return f.Count
		}
	}
	return 0
}

// Throughput is answers per second. At constant gaps, the gap after the last request counts too.
func (r *Result) Throughput() float64 {
	if r.Duration <= 0 {
		return 0
	}
	seconds := r.Duration.Seconds()
	if r.Rate > 0 && r.Arrivals == ArrivalsConstant {
		seconds = max(seconds, float64(r.Requests())/r.Rate)
	}
	return float64(r.Answered) / seconds
}

var errUnsent = errors.New("due, but no connection was free in time: " +
	"the rate is more than the service takes over these connections")

// Class is a kind of failure.
type Class string

// The classes of failure, from the wire up.
const (
	ClassDNS      Class = "dns"      // the host's name did not resolve
	ClassRefused  Class = "refused"  // nothing listens
	ClassConnect  Class = "connect"  // any other failure to connect
	ClassTLS      Class = "tls"      // the handshake failed
	ClassTimeout  Class = "timeout"  // not answered within Options.Timeout
	ClassReset    Class = "reset"    // the peer reset the connection, or the stream
	ClassClosed   Class = "closed"   // the peer closed the connection too early
	ClassProtocol Class = "protocol" // the answer is not HTTP
	// open loop: due, but no connection was free in time
	ClassUnsent Class = "unsent"
	ClassOther  Class = "other"

	// ClassGenerator means that the load generator's own machine lacks descriptors, ports or
	// memory.
	ClassGenerator Class = "generator"
)

var generatorErrors = []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM}

// waited reports whether the histograms include such a failure.
func (c Class) waited() bool { return c == ClassTimeout || c == ClassUnsent }

// dialError is an error of connecting.
type dialError struct {
	error
	class Class
}

func (e dialError) Unwrap() error { return e.error }

func classify(err error) Class {
	var dial dialError
	var op *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case err == errUnsent: // first, because a backlog may have millions
		return ClassUnsent
	case slices.ContainsFunc(generatorErrors, func(target error) bool { return errors.Is(err, target) }):
		return ClassGenerator
	case errors.As(err, new(*net.DNSError)):
		return ClassDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return ClassTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassRefused
	case errors.As(err, &dial):
		return dial.class
	case errors.As(err, new(tls.AlertError)), errors.As(err, new(tls.RecordHeaderError)),
		errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return ClassTLS
	case errors.As(err, &op) && op.Op == "dial": // a Transport's
		return ClassConnect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, errReset):
		return ClassReset
	case errors.Is(err, errProtocol), errors.Is(err, errMalformed):
		return ClassProtocol
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, errGoAway):
		return ClassClosed
	}
	return ClassOther
}
