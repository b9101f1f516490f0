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
	MaxStreams     = 1000
	MaxRate        = 1e6  // requests per second
	MinRate        = 1e-4 // requests per second
	maxDuration    = 24 * time.Hour
	maxInFlight    = 1 << 20 // Connections x Streams
)

// Options of a run. Only Targets is required, or Call instead of it.
type Options struct {
	// Targets are requested one after the other, round and round, by their weights. No default:
	// required, unless Call is there. At most MaxTargets.
	Targets []Target

	// Call is one request of any client, such as one of SQL or gRPC: it makes it, waits for the whole of
	// the answer and returns nil, or why it failed. There are Connections workers, numbered from
	// 0, and each has one call at a time, so that what belongs to a worker needs no lock. ctx ends after
	// Timeout: a call that fails from then on counts as ClassTimeout. Default nil: HTTP, to the Targets.
	Call func(ctx context.Context, worker int) error

	// Connections is the number of concurrent requests in the closed loop (default 50) and
	// the most of them in the open loop (default 1,000; it starts with few). Each has one
	// connection to each host among the Targets; over HTTP/2 it is such connections, each with
	// Streams requests at once. At most MaxConnections.
	Connections int

	// Protocol is the version of HTTP. Default: ProtocolAuto.
	Protocol Protocol

	// Streams is how many requests each connection of HTTP/2 has at once, so that Connections x
	// Streams are under way at most (1,048,576 altogether); fewer where the server allows fewer. Over
	// HTTP/1.1 it is 1. Default 1, at most MaxStreams.
	Streams int

	// Requests ends the run after that many measured requests. Default: no bound, or 200
	// where Duration is 0 too (as hey).
	Requests int

	// Duration ends the run after that time, and after one request at least; what is in flight may
	// finish, which takes Timeout at most, and the open loop's backlog has Drain. Default: no
	// bound. At most 24 h.
	Duration time.Duration

	// Drain is how long the open loop's backlog may take after the last request was due. What
	// has no connection by then is given up, as ClassUnsent. Default 0: as long as Timeout. At
	// most 24 h.
	Drain time.Duration

	// Rate is requests per second in the open loop, from MinRate to MaxRate. Default 0: closed
	// loop, unless there are Stages or Times.
	Rate float64

	// Stages are rates of the open loop that follow each other, instead of Rate and Duration:
	// steps and ramps. Warm-up has the mean rate of the first. At most 10,000. Default nil: Rate.
	Stages []Stage

	// Times are when requests of the open loop are due, counted from the start of measuring and in
	// order: those of a recorded trace, for instance. They stand instead of Rate and Stages;
	// warm-up has their mean rate. Not changed, must not change during Run. At most 100 million,
	// and 24 h. Default nil: Rate or Stages.
	Times []time.Duration

	// Arrivals is how the requests of Rate or Stages follow each other. Default: ArrivalsConstant.
	Arrivals Arrivals

	// Seed makes the times of ArrivalsPoisson: the same seed, the same times. Default 0: a new one
	// for each run, which the Result has.
	Seed uint64

	// Warmup is time under the same load before measuring starts. Default 0: none. The last
	// answer to it is awaited before the first measured request.
	Warmup time.Duration

	// OnMeasure is called between warm-up and measurement, when no request is in flight.
	// Default nil: nothing.
	OnMeasure func()

	// OnLatency is called for each measured request that counts in Result.Latency: when it was
	// due and how long it took from then. Calls come one at a time, from the goroutines that
	// carry the load: it must not block. Default nil: nothing.
	OnLatency func(due time.Time, latency time.Duration)

	// Timeout of one request, from its sending to the last byte of its answer; also of
	// dialling. Default 20 s, at most 24 h.
	Timeout time.Duration

	// DisableKeepAlive opens a connection for each request. Default false.
	DisableKeepAlive bool

	// TLS configures https. Default nil: the system's roots.
	TLS *tls.Config

	// DialContext makes the built-in client's connections, such as those to a Unix socket; network
	// is tcp and address that of a URL's host. Default nil: a net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Transport carries the requests instead of the built-in client. Default nil: built in.
	// Its RoundTrip must be safe for concurrent use; TLS and DisableKeepAlive are then its own
	// business.
	Transport http.RoundTripper

	// OnProgress is called about every ProgressInterval (default 1 s) from one goroutine, and
	// 250 ms after the end of Duration or Warmup where answers are still awaited then. Default nil: nothing.
	OnProgress       func(Progress)
	ProgressInterval time.Duration // default 1 s
}

// Progress is where a run stands.
type Progress struct {
	Warmup   bool          // not measuring yet
	Elapsed  time.Duration // in this phase
	Done     int64         // answered or failed, in this phase
	Failed   int64         // of Done
	Rate     float64       // answers per second since the last call
	P50, P99 time.Duration // so far, in this phase
	Fraction float64       // of this phase, 0 to 1
	InFlight int64         // begun and not ended: what answers are awaited for
	Backlog  int64         // due in the open loop, with no connection to be sent on yet
}

// Open reports whether o asks for the open loop.
func (o *Options) Open() bool { return o.Rate > 0 || len(o.Stages) > 0 || len(o.Times) > 0 }

// normal returns o with defaults filled in, or what is wrong with it.
func (o Options) normal() (Options, error) {
	bad := func(option, format string, a ...any) (Options, error) {
		return o, evenkeel.NewOptionError("loadgen.Options", option, format, a...)
	}
	switch {
	case len(o.Targets) == 0 && o.Call == nil:
		return bad("Targets", "none; name at least one URL")
	case o.Call != nil && (len(o.Targets) > 0 || o.Transport != nil):
		return bad("Call", "it stands instead of Targets and Transport; leave it out, or both of them")
	case o.Rate != 0 && !(o.Rate >= MinRate && o.Rate <= MaxRate): // NaN too
		return bad("Rate", "%v requests/s; it goes from %v to %v, or is 0 for a closed loop", o.Rate, MinRate, MaxRate)
	case o.Connections < 0 || o.Connections > MaxConnections:
		return bad("Connections", "%d; it goes from 1 to %d", o.Connections, MaxConnections)
	case o.DialContext != nil && (o.Call != nil || o.Transport != nil):
		return bad("DialContext", "it is the built-in client's, which Transport and Call stand for; leave it out")
	case o.Requests < 0:
		return bad("Requests", "%d; it must be positive, or 0 for no bound", o.Requests)
	case o.Duration < 0 || o.Duration > maxDuration:
		return bad("Duration", "%v; it goes from 0 (no bound) to %v", o.Duration, maxDuration)
	case o.Warmup < 0 || o.Warmup > maxDuration:
		return bad("Warmup", "%v; it goes from 0 (none) to %v", o.Warmup, maxDuration)
	case o.Timeout < 0 || o.Timeout > maxDuration:
		return bad("Timeout", "%v; it goes from 0 (20 s) to %v", o.Timeout, maxDuration)
	case o.Drain < 0 || o.Drain > maxDuration:
		return bad("Drain", "%v; it goes from 0 (as long as Timeout) to %v", o.Drain, maxDuration)
	case o.ProgressInterval < 0:
		return bad("ProgressInterval", "%v; it must be positive, or 0 for 1 s", o.ProgressInterval)
	}
	if err := cmp.Or(o.normalArrivals(), o.normalProtocol()); err != nil {
		return o, err
	}
	if o.Connections == 0 {
		o.Connections = 50
		if o.Rate > 0 {
			o.Connections = 1000
		}
	}
	if n := o.Connections * o.Streams; n > maxInFlight {
		return bad("Streams", "%d on each of %d connections are %d requests at a time; at most %d", o.Streams,
			o.Connections, n, maxInFlight)
	}
	if o.Requests == 0 && o.Duration == 0 {
		o.Requests = 200
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = o.Timeout
	}
	if o.ProgressInterval == 0 {
		o.ProgressInterval = time.Second
	}
	return o, nil
}

// Target is one request to send.
type Target struct {
	Method string      // default GET
	URL    string      // absolute, http or https
	Header http.Header // default none; "Host" here overrides the URL's
	Body   []byte      // default empty; not changed, must not change during Run

	// Weight is the target's share of the requests: one of weight 3 is requested three times as
	// often as one of weight 1 (see Round). Default 0: 1. At most MaxTargets.
	Weight int

	// Class is what Result.Classes calls it. Targets of one class have one set of figures. Default
	// "": its method and URL, or OtherTargets where that would be more than MaxClasses.
	Class string
}
