//go:build linux

package planted

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// plant is a cause that was planted into a program, how the program is loaded, and what is true of
// its slowest requests. What waits is no more than a tenth of all requests and no less than a
// fiftieth, and waits for 20 ms at least. Then it is the slowest 1%, and not the median.
type plant struct {
	name    string
	program string // package; default: planted, which knows the plant's name
	load    load
	truth   truth
}

// truth is what is to be said. One of several functions is right.
type truth struct {
	causes []reqtrace.Cause // none: there is nothing to name
	at     []string         // where the requests wait, or what they do; none: it is not judged
	holder []string         // what held what they wait for; none: nothing did
	doing  reqtrace.Cause   // where the holder's time went
	op     string           // what is waited for, of several with | between them; "": it is not judged
	words  string           // that the verdict's sentences have
}

const (
	lock    = reqtrace.CauseLock
	channel = reqtrace.CauseChannel
	network = reqtrace.CauseNetwork
	syscall = reqtrace.CauseSyscall
	running = reqtrace.CauseRunning
	asleep  = reqtrace.CauseSleep
)

// held is the truth of requests that wait for what something holds.
func held(cause reqtrace.Cause, at, holder string, doing reqtrace.Cause, op string) truth {
	t := truth{
		causes: []reqtrace.Cause{cause}, at: strings.Fields(at), holder: strings.Fields(holder),
		doing: doing, op: op,
	}
	if cause == channel && op != "" { // a semaphore or a pool of connections may be made of either
		t.causes = append(t.causes, lock)
	}
	return t
}

// itself is the truth of requests that are slow by what they do.
func itself(cause reqtrace.Cause, at, op string) truth {
	return truth{causes: []reqtrace.Cause{cause}, at: strings.Fields(at), op: op}
}

// collector are the causes that are the collector's work.
var collector = []reqtrace.Cause{
	reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep,
	reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
}

// ofLoops are the causes that busy loops of other processes are behind, by design.
var ofLoops = []reqtrace.Cause{reqtrace.CauseDescheduled, reqtrace.CauseRunqueueIdle}

var (
	grpcLoad = load{protocol: "grpc"}
	h2Load   = load{protocol: "h2"}
	twoProcs = load{procs: "2"}
)

// guards are what something holds while it works.
var guards = []struct {
	name, op string
	cause    reqtrace.Cause
	load     load
	does     string
}{
	{"mutex", "mutex", lock, load{}, "asks computes syncs"},
	{"rwmutex", "RWMutex", lock, h2Load, "asks computes syncs"},
	{"reader", "RWMutex", lock, load{}, "asks"},
	{"once", "Once", lock, load{}, "asks"},
	{"cond", "condition", lock, load{}, "asks computes"},
	{"waitgroup", "group of goroutines", lock, load{}, "computes"},
	{"flight", "singleflight", lock, grpcLoad, "asks computes"},
	{"semaphore", "semaphore", channel, load{}, "computes syncs"},
	{"channel", "", channel, grpcLoad, "asks syncs"},
	{"worker", "", channel, load{}, "computes sleeps"},
	{"owner", "", channel, load{protocol: "x/net"}, "computes"},
}

var doings = map[string]reqtrace.Cause{"asks": network, "computes": running, "syncs": syscall, "sleeps": asleep}

// guarded are the plants of guards.
func guarded() (list []plant) {
	types := map[string]string{"semaphore": "weighted", "channel": "slots", "reader": "reader rwmutex"}
	for _, g := range guards {
		for does := range strings.FieldsSeq(g.does) {
			t := held(g.cause, "", "fold writeAndSync (*env)."+does, doings[does], g.op)
			for of := range strings.FieldsSeq(cmp.Or(types[g.name], g.name)) {
				t.at = append(t.at, strings.Fields("(*"+of+").use (*"+of+").refresh")...)
				t.holder = append(t.holder,
					strings.Fields("(*"+of+").refresh (*"+of+").read (*"+of+").load (*"+of+").run")...)
			}
			list = append(list, plant{g.name + "-" + does, "", g.load, t})
		}
	}
	return list
}

// plants are all kinds of causes that explain names. Most kinds and their truths are by an engineer
// who had read docs/explain.md and not the code of reqtrace, and who wrote the truth down
// before the first run.
var plants = append(guarded(), []plant{
	{"grpc-streams", "", grpcLoad, truth{
		causes: []reqtrace.Cause{channel}, at: strings.Fields("(*branch).ask"), words: "MaxConcurrentStreams",
	}},
	{"limiter", "", grpcLoad, itself(asleep, "(*telegraph).send", "rate limiter")},
	{"retries", "", load{}, itself(asleep, "(*relay).again", "")},
	{"middleware", "", load{}, truth{
		causes: []reqtrace.Cause{network}, at: strings.Fields("(*env).get"), words: "planted.(*frontDesk).answer",
	}},
	{"dns", "", h2Load, itself(network, "(*agencies).locate", "name server")},
	{"tls", "", load{}, itself(network, "(*env).get", "TLS handshake")},
	{"upload", "", load{uploads: true}, truth{
		causes: []reqtrace.Cause{network}, at: strings.Fields("uploads.receive"),
		words: "the client, which sends the request",
	}},
	{"fan-out", "", load{rate: 100}, itself(network, "(*env).get", "")},
	{"fsync", "", load{protocol: "grpc", env: []string{"STREAM_WORKERS=8"}}, itself(
		syscall, "writeAndSync", "fsync|write")},
	{"read", "", load{}, itself(syscall, "(*plates).fetch", "pread|read")},
	{"child", "", load{rate: 100}, itself(syscall, "(*converter).pack", "waitid|wait4")},
	{"c", "", load{}, itself(reqtrace.CauseCgo, "digest.Of", "digest")},
	{"running", "", load{protocol: "h2", rate: 100}, itself(running, "(*gallery).scale", "")},

	{"assist", "", load{rate: 100, env: []string{"GOGC=15"}}, truth{
		causes: collector[:3], at: strings.Fields("(*imports).parse"),
	}},
	{"gc", "", load{rate: 300, procs: "1", env: []string{"GOGC=10"}}, truth{causes: collector}},
	{"stopped", "", twoProcs, truth{causes: []reqtrace.Cause{reqtrace.CauseStopped}}},
	{"readmemstats", "", twoProcs, truth{causes: []reqtrace.Cause{reqtrace.CauseStoppedOther}}},
	{"stack", "", twoProcs, truth{
		causes: []reqtrace.Cause{reqtrace.CauseStoppedOther}, words: "planted.(*watchdog).look",
	}},
	{"bursts", "", twoProcs, truth{
		causes: []reqtrace.Cause{reqtrace.CauseRunqueueBusy}, holder: strings.Fields("(*index).chunk fold"),
	}},

	{"nothing", "", load{}, truth{}},
	{"nothing-h2", "", h2Load, truth{}},
	{"nothing-xnet", "", load{protocol: "x/net"}, truth{}},
	{"nothing-grpc", "", grpcLoad, truth{}},
	{"machine", "", load{protocol: "grpc", freeze: 100 * time.Millisecond}, truth{words: "machine stood still"}},
}...)

// Programs that others wrote, below explain/real.
const (
	accounts = "accounts"
	caddy    = "caddy"
)

var (
	small   = load{small: "/small"}
	joined  = load{rate: 50, small: "/small", large: "/large"}
	proxied = []string{"reverseproxy.(*HTTPTransport).RoundTrip", "reverseproxy.(*Handler).reverseProxy"}
	inCaddy = truth{causes: []reqtrace.Cause{network}, at: proxied}
	ofUnary = load{protocol: "grpc", small: "/grpc.testing.TestService/UnaryCall", body: "\x10\x64"} // response_size
	ofPut   = load{
		protocol: "grpc", rate: 50, dirty: true, small: "/etcdserverpb.KV/Put", body: "\x0a\x03key\x12\x05value",
	}
	ofPromQL = load{small: "/api/v1/query", large: "/api/v1/query_range"}
)

// realPrograms are programs of others, with nothing of ours in the way but their main function.
var realPrograms = []plant{
	// Caddy before a service of which one of thirty answers takes 60 ms.
	{"caddy", caddy, load{small: "/", large: "/after/60ms"}, inCaddy},
	{"caddy-h2", caddy, load{protocol: "h2", small: "/", large: "/after/60ms"}, inCaddy},
	// etcd, embedded, while another program writes to its disk and syncs.
	{"etcd", "etcd", ofPut, truth{causes: []reqtrace.Cause{channel, lock, syscall}, words: "sync"}},
	// gRPC's server for interoperability tests. An interceptor's key is fetched anew under its
	// lock.
	{"grpc", "calls", ofUnary, held(lock, "(*keys).valid", "(*keys).renew", network, "RWMutex")},
	// SQLite by mattn (cgo) and by modernc (pure). One of thirty queries joins.
	{"sqlite-c", accounts, joined, itself(reqtrace.CauseCgo, "(*accounts).history", "")},
	{"sqlite", accounts, joined, itself(running, "(*accounts).history", "")},
	// Prometheus' TSDB. One of thirty queries is one over an hour.
	{"tsdb", "tsdb", ofPromQL, truth{causes: []reqtrace.Cause{running}, words: "queryRange"}},

	// database/sql over SQLite.
	{"sql-pool-asks", accounts, small, held(
		channel, "(*accounts).balance", "(*accounts).confirm (*accounts).settle", network, "connection pool")},
	{"sql-nothing", accounts, load{rate: 100, small: "/small"}, truth{}},
}

// assertsCase runs the assertion of the guide's test, that no lock is the first cause, on two
// services next to two busy loops. In one, work of 0.15 ms holds the lock now and then. In the
// other, a refresh holds it for 20 ms of work.
func assertsCase() harness.Case {
	holds := map[string]time.Duration{"held shortly": 150 * time.Microsecond, "held long": 20 * time.Millisecond}
	return harness.Case{
		Name: "explain/asserts", What: "a test's assertion that no lock is the first cause, with one and without",
		Ways: []string{"held shortly", "held long"}, Rounds: 60, Length: 2 * time.Second,
		Claims: []harness.Claim{
			{Way: "held shortly", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
			{Way: "held long", Figure: "wrong", Total: true, Target: harness.AtMost(1)},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			end, err := machine.BusyLoops(ctx, harness.Unless(r, 2, 0))
			if err != nil {
				return err
			}
			defer end()
			v, err := assertedOn(ctx, r.Length, holds[r.Way])
			if err != nil {
				return noRequests(r, err)
			}
			named := v.Named && v.Causes[0].Cause == reqtrace.CauseLock
			r.Said = v.Sentence
			r.Set("wrong", number(named != (r.Way == "held long")))
			return nil
		},
	}
}

// adder is a service that adds under a lock.
type adder struct {
	mu sync.Mutex
	n  uint64
}

// work computes for about d. It counts steps, so it does the same work if the kernel takes the CPU.
func (a *adder) work(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 60 * int(d/(100*time.Nanosecond)) {
		a.n = (a.n ^ a.n>>29) * 0x9e3779b97f4a7c15
	}
}

func (a *adder) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.work(20 * time.Microsecond)
	_, _ = io.WriteString(w, "added")
}

// assertedOn traces the service under load. Another goroutine holds its lock for hold at a time, 4
// to 20% of the time.
func assertedOn(ctx context.Context, length, hold time.Duration) (*verdict.Verdict, error) {
	a := &adder{n: 7}
	srv := httptest.NewServer(a)
	defer srv.Close()
	return verdict.During(ctx, reqtrace.Options{}, func() {
		ctx, cancel := context.WithTimeout(ctx, length)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				a.work(hold)
				time.Sleep(max(5*hold, 5*time.Millisecond))
			}
		})
		interval := func() time.Duration { return time.Duration(rand.ExpFloat64() * float64(5*time.Millisecond)) }
		for due := time.Now(); ctx.Err() == nil; due = due.Add(interval()) {
			time.Sleep(time.Until(due))
			all.Go(func() {
				if resp, err := srv.Client().Get(srv.URL); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		all.Wait()
	})
}
