package loadgen

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"evenkeel.dev"
)

// Limits of Options.
const (
	MaxConnections = 1 << 16
	maxStreams     = 1000
	MaxRate        = 1e6  // requests per second
	MinRate        = 1e-4 // requests per second
	maxDuration    = 24 * time.Hour
	maxInFlight    = 1 << 20 // Connections times Streams
)

// Options of a run. Only Targets is required, or Call instead of it.
type Options struct {
	// Targets are requested in turn, by their weights. Default nil: Call is required. Limit:
	// MaxTargets.
	Targets []Target

	// Call makes one request with any client, and returns nil or why it failed. Each of the
	// Connections workers, numbered from 0, makes one call at a time. ctx ends after Timeout. A
	// call that fails after that counts as ClassTimeout. Default nil: HTTP, to the Targets.
	Call func(ctx context.Context, worker int) error

	// Connections is the number of concurrent requests in the closed loop (default 50), or the most
	// of them in the open loop (default 1,000). Each has a connection to each host. Over HTTP/2
	// each connection carries Streams requests. At most MaxConnections.
	Connections int

	// Protocol is the version of HTTP. Default: ProtocolAuto.
	Protocol Protocol

	// Streams is how many requests an HTTP/2 connection carries at once, if the server allows as
	// many. Default 1, at most 1,000. Connections times Streams is at most 1,048,576.
	Streams int

	// Requests ends the run after so many measured requests. Default 0: no limit, or 200 without a
	// Duration.
	Requests int

	// Duration ends the run after this time, and at least one request. Requests in flight may still
	// finish, within Timeout. Default 0: no limit. At most 24 h.
	Duration time.Duration

	// Drain is how long the open loop's backlog may take after the last request was due. The rest
	// counts as ClassUnsent. Default 0: Timeout. At most 24 h.
	Drain time.Duration

	// Rate is requests per second in the open loop, from MinRate to MaxRate. Default 0: closed
	// loop, unless there are Stages or Times.
	Rate float64

	// Stages are rates that follow each other, instead of Rate and Duration. Warm-up has the mean
	// rate of the first. At most 10,000. Default nil.
	Stages []Stage

	// Times are when requests are due, in order, counted from the start of measuring. They replace
	// Rate and Stages. Warm-up has their mean rate. Do not change them during Run. At most 100
	// million, and 24 h. Default nil.
	Times []time.Duration

	// Arrivals says how the requests of Rate or Stages are spaced. Default ArrivalsConstant.
	Arrivals Arrivals

	// Seed makes the times of ArrivalsPoisson repeatable. Default 0: a new one, which the Result
	// has.
	Seed uint64

	// Warmup is time under the same load before measuring. Default 0. Its last answer comes before
	// the first measured request.
	Warmup time.Duration

	// OnMeasure is called between warm-up and measuring, when no request is in flight. Default nil.
	OnMeasure func()

	// OnLatency is called for each request in Result.Latency, one at a time. It must not block.
	// Default nil.
	OnLatency func(due time.Time, latency time.Duration)

	// Timeout is the time from sending a request to the last byte of its answer, and the time to
	// connect. Default 20 s, at most 24 h.
	Timeout time.Duration

	// DisableKeepAlive opens a connection for each request. Default false.
	DisableKeepAlive bool

	// TLS configures https. Default nil: the system's roots.
	TLS *tls.Config

	// DialContext makes the built-in client's connections, such as to a Unix socket. network is
	// tcp, and address is a URL's host and port. Default nil: a net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Transport replaces the built-in client. Its RoundTrip must be safe for concurrent use. TLS
	// and DisableKeepAlive do not apply to it. Default nil.
	Transport http.RoundTripper

	// OnProgress is called from one goroutine, about every ProgressInterval, until the last answer.
	// Default nil.
	OnProgress       func(Progress)
	ProgressInterval time.Duration // default 1 s
}

// Progress is how far a run is.
type Progress struct {
	Warmup   bool          // not measuring yet
	Elapsed  time.Duration // in this phase
	Done     int64         // answered or failed, in this phase
	Failed   int64         // of Done
	Rate     float64       // answers per second since the last call
	P50, P99 time.Duration // in this phase
	Fraction float64       // of this phase, 0 to 1
	InFlight int64         // begun and not ended
	Backlog  int64         // due in the open loop, without a connection yet
}

// Open reports whether o asks for the open loop.
func (o *Options) Open() bool { return o.Rate > 0 || len(o.Stages) > 0 || len(o.Times) > 0 }

func optionError(option, format string, a ...any) *evenkeel.OptionError {
	return evenkeel.NewOptionError("loadgen.Options", option, format, a...)
}

// normal returns o with defaults filled in, or what is wrong with it.
func (o Options) normal() (Options, error) {
	if err := cmp.Or(o.check(), o.normalArrivals(), o.normalProtocol()); err != nil {
		return o, err
	}
	if o.Connections == 0 {
		o.Connections = 50
		if o.Rate > 0 {
			o.Connections = 1000
		}
	}
	if n := o.Connections * o.Streams; n > maxInFlight {
		return o, optionError("Streams", "%d on each of %d connections are %d requests at a time; at most %d",
			o.Streams, o.Connections, n, maxInFlight)
	}
	if o.Requests == 0 && o.Duration == 0 {
		o.Requests = 200
	}
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	o.Drain = cmp.Or(o.Drain, o.Timeout)
	o.ProgressInterval = cmp.Or(o.ProgressInterval, time.Second)
	return o, nil
}

func (o *Options) check() *evenkeel.OptionError {
	switch {
	case len(o.Targets) == 0 && o.Call == nil:
		return optionError("Targets", "none; name at least one URL")
	case o.Call != nil && (len(o.Targets) > 0 || o.Transport != nil):
		return optionError("Call", "it replaces Targets and Transport; leave it out, or both of them")
	case o.Rate != 0 && !(o.Rate >= MinRate && o.Rate <= MaxRate): // NaN too
		return optionError("Rate", "%v requests/s; it goes from %v to %v, or is 0 for a closed loop", o.Rate,
			MinRate, MaxRate)
	case o.Connections < 0 || o.Connections > MaxConnections:
		return optionError("Connections", "%d; it goes from 1 to %d", o.Connections, MaxConnections)
	case o.DialContext != nil && (o.Call != nil || o.Transport != nil):
		return optionError("DialContext",
			"it is for the built-in client, which Transport and Call replace; leave it out")
	case o.Requests < 0:
		return optionError("Requests", "%d; it must be positive, or 0 for no bound", o.Requests)
	case o.ProgressInterval < 0:
		return optionError("ProgressInterval", "%v; it must be positive, or 0 for 1 s", o.ProgressInterval)
	}
	for _, x := range []struct {
		name     string
		duration time.Duration
		zero     string
	}{
		{"Duration", o.Duration, "no bound"},
		{"Warmup", o.Warmup, "none"},
		{"Timeout", o.Timeout, "20 s"},
		{"Drain", o.Drain, "as long as Timeout"},
	} {
		if x.duration < 0 || x.duration > maxDuration {
			return optionError(x.name, "%v; it goes from 0 (%s) to %v", x.duration, x.zero, maxDuration)
		}
	}
	return nil
}

// Target is one request to send.
type Target struct {
	Method string      // default GET
	URL    string      // absolute, http or https
	Header http.Header // default none; "Host" here overrides the URL's
	Body   []byte      // default empty; do not change it during Run

	// Weight is the target's share of the requests (see Round). Default 0: 1. At most MaxTargets.
	Weight int

	// Class is the target's name in Result.Classes. Targets of one class have common figures.
	// Default "": its method and URL. If there are over 64 classes, such targets share "other
	// targets".
	Class string
}
