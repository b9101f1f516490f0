package service

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/haproxy"
	"evenkeel.dev/gcgate/health"
	"evenkeel.dev/gcgate/httpgate"
)

type gateFlags struct {
	set     *flag.FlagSet
	on      bool
	policy  gcgate.Policy
	haproxy []*haproxy.RuntimeAPI
	health  bool
	allow   []netip.Prefix
	inBand  bool

	turns, etcd, group string
	leases, noTurns    bool
	replicas           int

	limit, minTrigger, maxTrigger int64
	events                        string
}

func (f *gateFlags) register(fs *flag.FlagSet) {
	f.set = fs
	fs.BoolFunc("gate", "put a gate before the collector; -gate=`policy` chooses one of "+
		"auto, drain, through, shed, memory", f.setPolicy)
	fs.Func("haproxy", "drain this server by HAProxy's runtime socket, `ADDR,BACKEND/SERVER`; may be repeated",
		func(s string) error {
			h, err := haproxy.ParseRuntimeAPI(s)
			f.haproxy = append(f.haproxy, h)
			return err
		})
	fs.BoolVar(&f.health, "health", false, "serve /health, which answers 503 around a collection")
	fs.Func("allow", "answer -health to these addresses besides this machine's own, "+
		"`CIDR[,CIDR]`; may be repeated", f.setAllow)
	fs.BoolVar(&f.inBand, "inband", false, "tell clients in the answers' headers")
	fs.StringVar(&f.turns, "turns", "",
		"take turns with other replicas by locks on this `file`, the same for all on one machine")
	fs.IntVar(&f.replicas, "replicas", 0,
		"`number` of replicas that take these turns: the trigger is then early enough for all others to go first")
	fs.StringVar(&f.etcd, "etcd", "",
		"take turns with other replicas by etcd at these `endpoints`, such as 127.0.0.1:2379,10.0.0.2:2379")
	fs.BoolVar(&f.leases, "leases", false,
		"take turns with other replicas by Leases of the Kubernetes cluster that this process runs in")
	fs.BoolVar(&f.noTurns, "no-turns", false,
		"take no turns: of several replicas behind one balancer, two that collect at once fail requests")
	fs.StringVar(&f.group, "group", "example", "`name` of the replicas that take turns by -etcd or -leases")
	size(fs, &f.limit, "limit", "memory limit, such as `900MiB` (default: the runtime's own, GOMEMLIMIT, or 0.9 of "+
		"the control group's)")
	size(fs, &f.minTrigger, "min-trigger",
		"collect at no smaller heap than this `size`, while there is no gap (default: 32MiB)")
	size(fs, &f.maxTrigger, "max-trigger",
		"let the heap at which to collect follow the allocation up to this `size` (default: half of the memory "+
			"limit; without one a 32nd of the machine's available memory, up to 512MiB)")
	fs.StringVar(&f.events, "events", "",
		"write each change of the gate's state to this `file`, a line of JSON each: t, source, state")
}

// needGate are the flags that mean nothing without -gate.
var needGate = []string{
	"haproxy", "health", "allow", "inband", "turns", "etcd", "no-turns", "leases", "replicas", "limit",
	"min-trigger", "max-trigger", "events",
}

// check says which flags do not go together.
func (f *gateFlags) check() (err error) {
	if f.turns != "" && f.etcd != "" || f.leases && (f.turns != "" || f.etcd != "") {
		return fmt.Errorf("two of -turns, -etcd and -leases say whose turn it is: leave one out")
	}
	if f.on {
		if len(f.allow) > 0 && !f.health {
			return fmt.Errorf("-allow says who may poll: add -health, or leave it out")
		}
		return nil
	}
	f.set.Visit(func(set *flag.Flag) {
		if err == nil && slices.Contains(needGate, set.Name) {
			err = fmt.Errorf("-%s is of no use without a gate: add -gate", set.Name)
		}
	})
	return err
}

func (f *gateFlags) setPolicy(s string) error {
	if on, err := strconv.ParseBool(s); err == nil {
		f.on, f.policy = on, gcgate.PolicyAuto
		return nil
	}
	f.on = true
	return f.policy.UnmarshalText([]byte(s))
}

func (f *gateFlags) setAllow(s string) error {
	for text := range strings.SplitSeq(s, ",") {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("%q is no prefix: write it as 10.244.0.0/16, or 10.0.0.7/32 for one address", text)
		}
		f.allow = append(f.allow, prefix)
	}
	return nil
}

// size adds a flag for bytes, written as GOMEMLIMIT is.
func size(fs *flag.FlagSet, bytes *int64, name, usage string) {
	fs.Func(name, usage, func(text string) error {
		digits, shift := text, 0
		for i, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
			if d, ok := strings.CutSuffix(text, unit); ok {
				digits, shift = d, 10*i
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64>>shift {
			return fmt.Errorf("write it as 900MiB or 2GiB")
		}
		*bytes = n << shift
		return nil
	})
}

// Gate is what the flags ask for. Without -gate it does nothing.
type Gate struct {
	Gate   *gcgate.Gate // nil without -gate
	health *health.Handler
	closes []func()
}

// start starts what the flags ask for. tune may change it, or is nil. Events name the source.
func (f *gateFlags) start(source string, log *slog.Logger, tune func(*gcgate.Options)) (g *Gate, err error) {
	g = &Gate{}
	if !f.on {
		return g, nil
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	o := gcgate.Options{
		Policy: f.policy, MemoryLimitBytes: f.limit,
		Replicas: f.replicas, MinTriggerBytes: f.minTrigger, MaxTriggerBytes: f.maxTrigger, Logger: log,
		DisableTurns: f.noTurns,
	}
	for _, p := range f.haproxy {
		o.Signals = append(o.Signals, p)
	}
	if f.health {
		g.health = &health.Handler{Allow: f.allow}
		o.Signals = append(o.Signals, g.health)
	}
	if f.inBand {
		o.Signals = append(o.Signals, &httpgate.InBand{})
	}
	if f.turns != "" {
		o.Turns = &gcgate.FileTurns{Path: f.turns}
	}
	if f.etcd != "" {
		turns, err := etcdturn.New(etcdturn.Options{Endpoints: strings.Split(f.etcd, ","), Group: f.group})
		if err != nil {
			return g, fmt.Errorf("-etcd: %w", err)
		}
		g.closes = append(g.closes, func() { turns.Close() })
		o.Turns = turns
	}
	if f.leases {
		turns, err := k8sturn.New(k8sturn.Options{Group: f.group})
		if err != nil {
			return g, fmt.Errorf("-leases: %w", err)
		}
		g.closes = append(g.closes, func() { turns.Close() })
		o.Turns = turns
	}
	if f.events != "" {
		if o.OnEvent, err = g.writeEvents(f.events, source); err != nil {
			return g, fmt.Errorf("-events: %w", err)
		}
	}
	if tune != nil {
		tune(&o)
	}
	gate, err := gcgate.Start(context.Background(), o)
	if err != nil {
		return g, err
	}
	g.Gate = gate
	g.closes = append(g.closes, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := gate.Stop(ctx); err != nil {
			log.Warn("the gate does not stop in time; a peer may think that this process is away", "error", err)
		}
	})
	return g, nil
}

// Close stops the gate, and then what it used. A second call does nothing.
func (g *Gate) Close() {
	for _, c := range slices.Backward(g.closes) {
		c()
	}
	g.closes = nil
}

// register serves /health if -health asks for it, and the gate's page.
func (g *Gate) register(mux *http.ServeMux) {
	if g.Gate != nil {
		mux.Handle("GET /debug/gate", httpgate.Status(g.Gate))
	}
	if g.health != nil {
		mux.Handle("GET /health", g.health)
	}
}

// ServeCollect answers once there has been a collection. Without a gate it is the runtime's own.
func (g *Gate) ServeCollect(w http.ResponseWriter, r *http.Request) {
	if g.Gate == nil {
		runtime.GC()
		return
	}
	if err := g.Gate.Collect(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// Stats returns the gate's [gcgate.Stats], nil without a gate.
func (g *Gate) Stats() any {
	if g.Gate == nil {
		return nil
	}
	return g.Gate.Stats()
}

type event struct {
	Time   time.Time    `json:"t"`
	Source string       `json:"source"`
	State  gcgate.State `json:"state"`
}

// writeEvents writes to a file from its own goroutine, because the gate's must not block.
func (g *Gate) writeEvents(name, source string) (add func(gcgate.Event), err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	queue := make(chan gcgate.Event, 1024) // which wait for the disk
	var writing sync.WaitGroup
	writing.Go(func() {
		enc := json.NewEncoder(file)
		for e := range queue {
			_ = enc.Encode(event{e.Time, source, e.State}) // a full disk must not stop the service
		}
	})
	g.closes = append(g.closes, func() {
		close(queue)
		writing.Wait()
		file.Close()
	})
	return func(e gcgate.Event) {
		select {
		case queue <- e:
		default:
		}
	}, nil
}
