package gcgate

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"evenkeel.dev"
)

// Options configure a [Gate]. The zero value is PolicyAuto without peers.
type Options struct {
	// Policy says what to do around a collection. Default: PolicyAuto.
	Policy Policy

	// Signals are the peers that the gate asks to drain this process, all at once. Default: none.
	Signals []Signal

	// Turns says when this replica may collect. PolicyShed needs them, and so does each signal that
	// is not safe without them ([Description]). Default: nil, at any time.
	Turns Turns

	// DisableTurns lets such a gate start without Turns. Set it only if no other replica drains at
	// the same peers, because two that collect at once fail requests. Default: false.
	DisableTurns bool

	// Replicas is how many replicas take these turns. With it the trigger leaves time for all
	// others to collect first, and the log warns if the turns do not suffice. Default: 0, not
	// known. Limit: 10,000.
	Replicas int

	// HoldTurn is how long to keep the turn once this process is back. Behind nginx set it to at
	// least its fail_timeout, 1 s and the longest request. Default: 0, which is 3 s under
	// PolicyShed, and nothing otherwise. Negative: nothing. Limit: 1 minute.
	HoldTurn time.Duration

	// MemoryLimitBytes is what the process may take of memory. A lower GOMEMLIMIT holds. Default:
	// 0, GOMEMLIMIT, or 0.9 of the control group's limit if that is lower. math.MaxInt64 ignores
	// the control group.
	MemoryLimitBytes int64

	// TriggerRatio, HardRatio and IdleRatio are heaps at which to collect, in multiples of the live
	// heap. The gate collects at the trigger in its turn, at the hard threshold at once, and at the
	// idle threshold if no request is in flight. A memory limit lowers the first two.
	//
	// Default: 0, which is 2 for the trigger, 1.3 for the idle threshold, and 2.75 for the hard one
	// (3.5 with Turns). Limit: 1.25 to 100 for the trigger, up to 200 for the hard threshold, and
	// above 1 for the idle one.
	TriggerRatio, HardRatio, IdleRatio float64

	// MinTriggerBytes and MaxTriggerBytes bound the trigger, which is the heap after two seconds of
	// allocation, and at least TriggerRatio times the live heap. Default: 0, which is 32 MiB, and
	// half of the memory limit. Without a limit the second is a 32nd of the machine's available
	// memory, up to 512 MiB. Limit: 0.8 of the memory limit.
	MinTriggerBytes, MaxTriggerBytes int64

	// Jitter lowers each trigger by a random share up to this, so that replicas do not collect in
	// step. Default: 0, which is 0.1. Negative: none. Limit: 0.5.
	Jitter float64

	// AnnounceTimeout is how long the gate waits for balancers to stop sending requests. Then it
	// collects anyway. The wait ends early at the hard threshold. Default: 0, which is 100 ms.
	// Limit: 10 s.
	AnnounceTimeout time.Duration

	// DrainTimeout is how long the gate waits until the process is quiet. Then it collects anyway.
	// Quiet means that no request is in flight for ten times the usual time between two requests, 2
	// to 50 ms. While new requests come after a confirmed drain, it waits up to the hard threshold.
	// Default: 0, which is 100 ms. Limit: 10 s.
	DrainTimeout time.Duration

	// Period is the longest time without a collection, for finalizers and idle memory. Default: 0,
	// which is 2 minutes as in the runtime. Negative: no limit.
	Period time.Duration

	// Logger gets Warn for what needs an operator, Info for choices and changed limits, and Debug
	// for changes of state. Default: nil, which is slog.Default().
	Logger *slog.Logger

	// OnEvent is called at each change of state, from the gate's goroutine. It must not block.
	// Default: nil.
	OnEvent func(Event)

	// Collector is what the gate controls. Several gates of one test may each have a
	// gcgatetest.Heap. Default: nil, the garbage collector of this process.
	Collector Collector
}

// Below minTriggerRatio times the live heap the gate would collect all the time.
const minTriggerRatio = 1.25

const (
	maxHardRatio       = 200.
	maxAnnounceTimeout = 10 * time.Second
	maxReplicas        = 10_000
)

func (o Options) withDefaults() (Options, error) {
	o.TriggerRatio = cmp.Or(o.TriggerRatio, 2)
	o.HardRatio = cmp.Or(o.HardRatio, o.usualHardRatio())
	o.IdleRatio = cmp.Or(o.IdleRatio, 1.3)
	o.MinTriggerBytes = cmp.Or(o.MinTriggerBytes, 32<<20)
	o.AnnounceTimeout = cmp.Or(o.AnnounceTimeout, 100*time.Millisecond)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 100*time.Millisecond)
	o.Jitter = max(cmp.Or(o.Jitter, 0.1), 0)
	o.Period = max(cmp.Or(o.Period, 2*time.Minute), 0)
	if o.HoldTurn == 0 && o.Policy == PolicyShed {
		o.HoldTurn = 3 * time.Second
	}
	o.HoldTurn = max(o.HoldTurn, 0)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, o.check()
}

func (o *Options) usualHardRatio() float64 {
	growth := hardGrowth
	if o.Turns != nil {
		growth = hardGrowthTurns
	}
	return min(1+growth*(o.TriggerRatio-1), maxHardRatio)
}

func refuseOption(option, format string, args ...any) error {
	return evenkeel.NewOptionError("gcgate.Options", option, format, args...)
}

// check lets a NaN fail each comparison.
func (o *Options) check() error {
	switch {
	case !policyNames.Has(o.Policy):
		return refuseOption("Policy", "%v is not a policy: "+
			"use PolicyAuto, PolicyDrain, PolicyThrough, PolicyShed or PolicyMemory", o.Policy)
	case !(o.TriggerRatio >= minTriggerRatio && o.TriggerRatio <= 100):
		return refuseOption("TriggerRatio", "%g is out of range: use %g to 100 (2 by default)",
			o.TriggerRatio, minTriggerRatio)
	case !(o.HardRatio > o.TriggerRatio && o.HardRatio <= maxHardRatio):
		return refuseOption("HardRatio", "%g must be above TriggerRatio, which is %g, and at most %g: use %g",
			o.HardRatio, o.TriggerRatio, maxHardRatio, o.usualHardRatio())
	case !(o.IdleRatio > 1 && o.IdleRatio <= o.TriggerRatio):
		return refuseOption("IdleRatio", "%g must be above 1 and at most TriggerRatio, which is %g: use %g",
			o.IdleRatio, o.TriggerRatio, 1+0.3*(o.TriggerRatio-1))
	case !(o.Jitter >= 0 && o.Jitter <= 0.5):
		return refuseOption("Jitter", "%g is out of range: use at most 0.5, 0 for the default of 0.1, or -1 for none",
			o.Jitter)
	case o.MemoryLimitBytes < 0:
		return refuseOption("MemoryLimitBytes", "%d is negative: use 0 for the runtime's own limit", o.MemoryLimitBytes)
	case o.MinTriggerBytes < 0:
		return refuseOption("MinTriggerBytes", "%d is negative: use 0 for 32 MiB", o.MinTriggerBytes)
	case o.MaxTriggerBytes != 0 && o.MaxTriggerBytes < o.MinTriggerBytes:
		return refuseOption("MaxTriggerBytes", "%d is below MinTriggerBytes, which is %d: use at least that "+
			"(then the trigger does not follow the allocation), or 0 for the default",
			o.MaxTriggerBytes, o.MinTriggerBytes)
	case o.DisableTurns && o.Turns != nil:
		return refuseOption("Turns", "they are set, and DisableTurns is, too: leave one of them out")
	case o.Replicas < 0 || o.Replicas > maxReplicas:
		return refuseOption("Replicas", "%d is out of range: use 1 to %d, or 0 if it is not known",
			o.Replicas, maxReplicas)
	case o.Policy == PolicyDrain && len(o.Signals) == 0:
		return refuseOption("Policy", "PolicyDrain needs a peer: add a Signal, or use PolicyAuto or PolicyMemory")
	}
	for _, d := range []struct {
		option       string
		value, limit time.Duration
	}{
		{"AnnounceTimeout", o.AnnounceTimeout, maxAnnounceTimeout},
		{"DrainTimeout", o.DrainTimeout, 10 * time.Second},
		{"HoldTurn", o.HoldTurn, time.Minute},
	} {
		if d.value < 0 || d.value > d.limit {
			return refuseOption(d.option, "%v is out of range: use up to %v, or 0 for the default", d.value, d.limit)
		}
	}
	for i, s := range o.Signals {
		if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return refuseOption("Signals", "signal %d is nil: leave it out", i)
		}
	}
	return o.checkTurns()
}

func (o *Options) checkTurns() error {
	if o.Turns != nil || o.DisableTurns {
		return nil
	}
	const fix = "set gcgate.FileTurns for replicas on one host or contrib/etcdturn for several, " +
		"or DisableTurns if no other replica drains there"
	switch o.Policy {
	case PolicyShed:
		return refuseOption("Turns",
			"PolicyShed needs them, because replicas that collect at once refuse all requests: %s", fix)
	case PolicyAuto, PolicyDrain:
		for _, s := range o.Signals {
			if !describe(s).SafeWithoutTurn {
				return refuseOption("Turns", "signal %q needs them, "+
					"because its peer has no server left when all replicas collect at once: %s", s.String(), fix)
			}
		}
	}
	return nil
}

func (o *Options) validate() error {
	for i, s := range o.Signals {
		if v, ok := s.(Validator); ok {
			if err := v.Validate(); err != nil {
				return fmt.Errorf("gcgate.Options.Signals: signal %d: %w", i, err)
			}
		}
	}
	if v, ok := o.Turns.(Validator); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("gcgate.Options.Turns: %w", err)
		}
	}
	return nil
}

func (o *Options) memoryLimit() (int64, error) {
	runtime := o.Collector.SetLimit(-1)
	if set := o.MemoryLimitBytes; set > runtime && set != math.MaxInt64 {
		o.Logger.Warn("gcgate: Options.MemoryLimitBytes is above the runtime's own limit (GOMEMLIMIT), which holds",
			"option", set, "runtime", runtime)
	}
	limit := o.lowerLimit(runtime)
	return limit, checkLimit(o, limit)
}

func (o *Options) lowerLimit(runtime int64) int64 {
	if o.MemoryLimitBytes > 0 {
		return min(runtime, o.MemoryLimitBytes)
	}
	return runtime
}
