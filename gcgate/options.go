package gcgate

import (
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"evenkeel.dev"
)

// Options configure a [Gate]. The zero value works: it is PolicyAuto without peers.
type Options struct {
	// Policy says what to do around a collection. Default: PolicyAuto.
	Policy Policy

	// Signals are the peers that the gate asks to drain this process, all of them at once. Default:
	// none.
	Signals []Signal

	// Turns says when this replica may collect. Default: nil, at any time. PolicyShed needs Turns, and
	// so does each signal that is not safe without them ([Description]), because no replica serves
	// while all are drained. Start returns an error if they are missing, except with DisableTurns.
	Turns Turns

	// DisableTurns collects at any time, whichever other replica is drained. It is for a process that
	// is the only one to announce itself to its peers, such as a canary next to replicas without a
	// gate. Of several, two that collect at once fail requests. Default: false.
	DisableTurns bool

	// Replicas is how many replicas take these turns. With it the trigger is early enough for all
	// others to go first, should all want the turn at once. The log warns if memory or turns do not
	// suffice for that. Default: 0, not known. Limit: 10,000.
	Replicas int

	// HoldTurn is how long to keep the turn once this process is back. A peer that sends nothing for a
	// time after a refusal then sends requests again before the next replica refuses.
	// Default: 0, which is 2 s under PolicyShed (nginx counts whole seconds, so that its
	// fail_timeout of 1 s in deploy/nginx lasts up to two), and none otherwise. Limit: 1 minute.
	HoldTurn time.Duration

	// DisableHoldTurn releases the turn at once under PolicyShed, too. Default: false.
	DisableHoldTurn bool

	// MemoryLimitBytes is what the process may take of memory. Default: 0, the runtime's own
	// limit (GOMEMLIMIT, or what automemlimit set), or 0.9 of the control group's where that is
	// lower; math.MaxInt64 leaves the control group's out, and so does the gate itself while the live
	// heap grows towards it. Limit: the lower one holds.
	MemoryLimitBytes int64

	// TriggerRatio, HardRatio and IdleRatio are the heaps at which to collect, in multiples of the
	// heap that was live after the last collection. The gate collects at the trigger when the turn
	// comes, at the hard threshold at once, and at the idle threshold when no request is in flight.
	// It uses the idle one under PolicyDrain and PolicyShed only, once it has counted a request.
	//
	// If the bounds below let the trigger be higher, the hard threshold stays as many times as far
	// from the live heap. A memory limit lowers both. The trigger is at most 0.75 and the hard
	// threshold 0.9 of the way from the live heap to where the runtime may begin a cycle by itself,
	// which is 0.7 of the way to the limit. Without a limit, the part of the hard threshold beyond
	// 1.75 times the way to the trigger takes at most a quarter of the machine's available memory.
	//
	// Default: 0, which is 2 for the trigger, 1.3 for the idle threshold, and 2.75 for the hard
	// one, 1.75 times as far from the live heap. With Turns it is 2.5 times as far, so 3.5, which
	// leaves time to wait for a turn. Limit: 1.25 to 100 for the trigger; the hard threshold above
	// it, up to 200; the idle one above 1, up to the trigger.
	TriggerRatio, HardRatio, IdleRatio float64

	// MinTriggerBytes and MaxTriggerBytes bound the trigger while it follows the allocation: it
	// is the heap that there is after two seconds at the present rate, at least MinTriggerBytes
	// and TriggerRatio times the live heap, at most MaxTriggerBytes. Default of the first: 0,
	// which is 32 MiB. Default of the second: 0, which is half of the memory limit, or without
	// any limit a 32nd of the memory that the machine has available, up to 512 MiB (32 MiB
	// where neither can be known). Both the same: the trigger follows nothing but the live heap.
	// Limit: 0.8 of the memory limit.
	MinTriggerBytes, MaxTriggerBytes int64

	// Jitter lowers each trigger by a random share up to this, so that replicas do not
	// collect in step. Default: 0, which is 0.1. Limit: 0.5.
	Jitter float64

	// DisableJitter makes the trigger exact: replicas that fill their heaps alike then collect
	// in step. Default: false.
	DisableJitter bool

	// AnnounceTimeout is how long the gate waits for the peers to act on the announcement. Then it
	// goes on anyway. After 200 ms the wait also ends if the heap is at the hard threshold. A
	// collection without the turn begins there, so its wait ends half-way to where the runtime
	// would begin by itself.
	//
	// The gate leaves out a [Confirmer] whose peer would not act in time, such as a health check
	// that is polled too seldom. If it could be used at the last collection, the gate waits for it
	// first, for a second at most, because a balancer may be busy for a moment. Default: 0, which
	// is 100 ms. Limit: 10 s.
	AnnounceTimeout time.Duration

	// DrainTimeout is how long the gate waits for requests in flight. Then it collects anyway,
	// which is safe. The wait also ends at the same heap as that of AnnounceTimeout.
	//
	// If new requests keep coming although each peer has confirmed the drain, the gate warns, and
	// waits on up to the hard threshold. If 10 s of that, in all, do not help, it leaves this out
	// for a minute. The trigger leaves room for what the recent drains took. Default: 0, which is
	// 100 ms. Limit: 10 s.
	DrainTimeout time.Duration

	// QuietFor is how long no request must be in flight nor enter before the collection starts.
	//
	// Default: 0, which is ten times the usual time between two requests, 2 ms (from 5,000 requests
	// per second on) to 50 ms (up to 200). If peers were asked to send none and send some all the
	// same, it is also a twentieth of that time, up to 50 ms. Under PolicyShed, which lets none in,
	// it is 2 ms. Limit: 1 s, and DrainTimeout. Half of that leaves the last requests some time to
	// arrive.
	QuietFor time.Duration

	// Period is the longest time without a collection, so that finalizers run and idle memory
	// goes back to the system. Default: 0, which is 2 minutes as in the runtime.
	Period time.Duration

	// DisablePeriod lets an idle process go without a collection for ever. Default: false.
	DisablePeriod bool

	// Logger gets Warn for what needs an operator and Debug for changes of state; the trigger's
	// rule and PolicyAuto's choice are at Info. Default: nil, which is slog.Default().
	Logger *slog.Logger

	// OnEvent is called at each change of state, from the gate's goroutine: it must not
	// block. Default: nil.
	OnEvent func(Event)

	// Collector is what the gate is in charge of. Default: nil, the garbage collector of this
	// process, of which only one gate can be in charge at a time. A test or a simulation gives a
	// stand-in (evenkeel.dev/gcgate/gcgatetest has one), and may run several gates side by side,
	// each over a stand-in of its own.
	Collector Collector
}

// minTriggerRatio is the lowest trigger in multiples of the live heap. Below it the gate would
// collect all the time.
const minTriggerRatio = 1.25

const (
	maxHardRatio       = 200. // the limit of Options.HardRatio
	maxAnnounceTimeout = 10 * time.Second
)

// withDefaults returns o with its defaults in place, or an [*evenkeel.OptionError].
func (o Options) withDefaults() (Options, error) {
	if err := o.checkDisabled(); err != nil {
		return o, err
	}
	setDefault(&o.TriggerRatio, 2)
	setDefault(&o.HardRatio, o.usualHardRatio())
	setDefault(&o.IdleRatio, 1.3)
	setDefault(&o.MinTriggerBytes, 32<<20)
	setDefault(&o.AnnounceTimeout, 100*time.Millisecond)
	setDefault(&o.DrainTimeout, 100*time.Millisecond)
	if !o.DisableJitter {
		setDefault(&o.Jitter, 0.1)
	}
	if !o.DisablePeriod {
		setDefault(&o.Period, 2*time.Minute)
	}
	if !o.DisableHoldTurn && o.Policy == PolicyShed {
		setDefault(&o.HoldTurn, 2*time.Second)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, o.check()
}

// usualHardRatio is the default of HardRatio. It is to be above TriggerRatio, and in bounds.
func (o *Options) usualHardRatio() float64 {
	growth := hardGrowth
	if o.Turns != nil {
		growth = hardGrowthTurns
	}
	return min(1+growth*(o.TriggerRatio-1), maxHardRatio)
}

func setDefault[T comparable](value *T, initial T) {
	var zero T
	if *value == zero {
		*value = initial
	}
}

func refuseOption(option, format string, args ...any) error {
	return evenkeel.NewOptionError("gcgate.Options", option, format, args...)
}

// checkDisabled refuses a value next to the field that disables it.
func (o *Options) checkDisabled() error {
	for _, d := range []struct {
		option   string
		disabled bool
		set      bool
	}{
		{"HoldTurn", o.DisableHoldTurn, o.HoldTurn != 0},
		{"Jitter", o.DisableJitter, o.Jitter != 0},
		{"Period", o.DisablePeriod, o.Period != 0},
	} {
		if d.disabled && d.set {
			return refuseOption(d.option, "it is set, and Disable%s is, too: leave one of them out", d.option)
		}
	}
	return nil
}

// check refuses what cannot work. A NaN fails each comparison below.
func (o *Options) check() error {
	switch {
	case o.Policy >= PolicyStock:
		return refuseOption("Policy", "%v is not a policy to choose: "+
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
		return refuseOption("Jitter", "%g is out of range: use at most 0.5, 0 for the default of 0.1, or DisableJitter",
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
		option  string
		value   time.Duration
		limit   time.Duration
		instead string
	}{
		{"AnnounceTimeout", o.AnnounceTimeout, maxAnnounceTimeout, ""},
		{"DrainTimeout", o.DrainTimeout, 10 * time.Second, ""},
		{"QuietFor", o.QuietFor, time.Second, ""},
		{"HoldTurn", o.HoldTurn, time.Minute, ", or DisableHoldTurn"},
		{"Period", o.Period, math.MaxInt64, ", or DisablePeriod"},
	} {
		switch {
		case d.value < 0 && d.limit == math.MaxInt64:
			return refuseOption(d.option, "%v is negative: use 0 for the default%s", d.value, d.instead)
		case d.value < 0 || d.value > d.limit:
			return refuseOption(d.option, "%v is out of range: use up to %v, 0 for the default%s",
				d.value, d.limit, d.instead)
		}
	}
	if o.QuietFor > o.DrainTimeout {
		return refuseOption("QuietFor",
			"%v is above DrainTimeout, which is %v: the gate would never wait for so long: "+
				"raise DrainTimeout to %v, or lower QuietFor", o.QuietFor, o.DrainTimeout, 2*o.QuietFor)
	}
	for i, s := range o.Signals {
		if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return refuseOption("Signals", "signal %d is nil: leave it out", i)
		}
	}
	return o.checkTurns()
}

// validate asks the signals and the turns whether they can work here.
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

// checkTurns refuses what fails requests when all replicas collect at once.
func (o *Options) checkTurns() error {
	if o.Turns != nil || o.DisableTurns {
		return nil
	}
	const fix = "set gcgate.FileTurns for replicas on one host, contrib/etcdturn for several, so that one collects " +
		"at a time; or DisableTurns, if no other replica announces itself there"
	switch o.Policy {
	case PolicyShed:
		return refuseOption("Turns",
			"PolicyShed needs them: when all replicas collect at once, all refuse, and requests fail: %s", fix)
	case PolicyAuto, PolicyDrain:
		for _, s := range o.Signals {
			if !describe(s).SafeWithoutTurn {
				return refuseOption("Turns", "signal %q needs them: when all replicas collect at once, "+
					"its peer has no replica to send to, and requests fail: %s", s.String(), fix)
			}
		}
	}
	return nil
}
