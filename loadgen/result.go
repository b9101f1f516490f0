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

// Result is what a run measured. The failures of ClassTimeout and ClassUnsent are in the
// histograms (see the package comment), the others are not.
type Result struct {
	Targets     []string      `json:"targets"`                // "GET http://...", the first 100
	MoreTargets int           `json:"more_targets,omitempty"` // that Targets does not list
	Connections int           `json:"connections"`
	Protocol    Protocol      `json:"protocol,omitempty"` // that was spoken; none with Options.Transport or Call
	Streams     int           `json:"streams,omitempty"`  // of each connection; HTTP/2 only
	Rate        float64       `json:"rate,omitempty"`     // asked for, on average; 0: closed loop
	Arrivals    Arrivals      `json:"arrivals,omitempty"`
	Seed        uint64        `json:"seed,omitempty"`   // of ArrivalsPoisson
	Stages      []Stage       `json:"stages,omitempty"` // of Options
	Timeout     time.Duration `json:"timeout_ns"`
	Warmup      time.Duration `json:"warmup_ns,omitempty"`

	Started     time.Time     `json:"started"`     // when measuring began
	Duration    time.Duration `json:"duration_ns"` // from the first measured request to the last answer
	Interrupted bool          `json:"interrupted,omitempty"`

	// Interrupted runs only: requests that were due and had no answer yet, and the longest
	// that one of them had waited. They are in no other figure.
	Unfinished    int64         `json:"unfinished,omitempty"`
	UnfinishedMax time.Duration `json:"unfinished_max_ns,omitempty"`

	Answered int64         `json:"answered"`
	Failed   int64         `json:"failed"`
	Statuses map[int]int64 `json:"statuses,omitempty"` // of the answered; none with Options.Call
	Failures []Failure     `json:"failures,omitempty"` // by class, most first
	Bytes    int64         `json:"body_bytes"`         // of the answers' bodies; a Transport may have decompressed them
	// connections opened since the start of warm-up; 0 with Options.Transport
	Connects int64 `json:"connects"`

	// open loop: from the time due; closed loop: from sending, or from dialling where that came first
	Latency Histogram `json:"latency"`

	// Open loop only.
	Service Histogram     `json:"service,omitzero"` // from sending: what a closed-loop tool would call latency; without ClassUnsent
	Late    int64         `json:"late,omitempty"`   // sent more than LateAfter after they were due
	LateMax time.Duration `json:"late_max_ns,omitempty"`

	// Pacer is how late the pacer itself was with each request, which is the load generator's and its
	// machine's doing, and not the service's: from when it was due to when it was handed on.
	Pacer Histogram `json:"pacer,omitzero"`

	Overload *Overload `json:"overload,omitempty"` // open loop: the backlog grew to the end

	// figures of each, in the targets' order, where there are two or more
	Classes []TargetClass `json:"classes,omitempty"`

	Series Series `json:"series"`
}

// listedTargets is how many of the targets a result names.
const listedTargets = 100

// TargetClass is what was measured of the targets of one class. Its figures mean what those of
// Result mean.
type TargetClass struct {
	Name     string        `json:"name"`
	Share    float64       `json:"share"` // of the requests by the targets' weights, 0 to 1
	Answered int64         `json:"answered"`
	Failed   int64         `json:"failed"`
	Statuses map[int]int64 `json:"statuses,omitempty"`
	Failures []Failure     `json:"failures,omitempty"`
	Bytes    int64         `json:"body_bytes"`
	Latency  Histogram     `json:"latency"`
}

// LateAfter is how long after it was due a request counts as sent late. Late requests are
// measured from the time they were due all the same.
const LateAfter = time.Millisecond

// Failure counts the failures of one class.
type Failure struct {
	Class   Class  `json:"class"`
	Count   int64  `json:"count"`
	Example string `json:"example"` // the first one's text
}

// Requests is the number of measured requests that ended, answered or failed.
func (r *Result) Requests() int64 { return r.Answered + r.Failed }

// FailedBy returns how many failures of a class there were.
func (r *Result) FailedBy(c Class) int64 {
	for _, f := range r.Failures {
		if f.Class == c {
			return f.Count
		}
	}
	return 0
}

// Throughput is answers per second of Duration. At constant gaps each request counts with its gap,
// the last one's too, which lies behind its answer: three requests at 0.5/s take 6 s.
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
