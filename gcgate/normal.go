package gcgate

import (
	"fmt"
	"log/slog"
	"math"
	"time"
)

// normal returns o with its defaults in place, or an [*OptionError].
func (o Options) normal() (Options, error) {
	for _, d := range []struct {
		value   *float64
		initial float64
	}{{&o.TriggerRatio, 2}, {&o.HardRatio, 2.75}, {&o.IdleRatio, 1.3}, {&o.Jitter, 0.1}} {
		if *d.value == 0 {
			*d.value = d.initial
		}
	}
	o.Jitter = max(o.Jitter, 0)
	for _, d := range []struct {
		value   *time.Duration
		initial time.Duration
	}{
		{&o.AnnounceTimeout, 100 * time.Millisecond},
		{&o.DrainTimeout, 100 * time.Millisecond},
		{&o.QuietFor, 2 * time.Millisecond},
		{&o.Period, 2 * time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.initial
		}
	}
	if o.HoldTurn == 0 && o.Policy == Shed {
		o.HoldTurn = 2 * time.Second
	}
	o.HoldTurn = max(o.HoldTurn, 0)
	if o.MinTriggerBytes == 0 {
		o.MinTriggerBytes = 32 << 20
	}
	if o.Stream == nil {
		o.Stream = IsStream
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := o.check(); err != nil {
		return o, err
	}
	return o, nil
}

// check refuses what cannot work. A NaN fails each comparison below.
func (o *Options) check() error {
	refuse := func(field, format string, args ...any) error {
		return &OptionError{Field: field, Fix: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.Policy >= stock:
		return refuse("Policy", "unknown policy %d: use Auto, Drain, Idle, Through or Shed", uint32(o.Policy))
	case !(o.TriggerRatio >= room && o.TriggerRatio <= 100):
		return refuse("TriggerRatio", "%g is out of range: use %g to 100 (2 by default)", o.TriggerRatio, room)
	case !(o.HardRatio > o.TriggerRatio && o.HardRatio <= 200):
		return refuse("HardRatio", "%g must be above TriggerRatio, which is %g, and at most 200: use %g", o.HardRatio, o.TriggerRatio, 1.375*o.TriggerRatio)
	case !(o.IdleRatio > 1 && o.IdleRatio <= o.TriggerRatio):
		return refuse("IdleRatio", "%g must be above 1 and at most TriggerRatio, which is %g: use %g", o.IdleRatio, o.TriggerRatio, 1+0.3*(o.TriggerRatio-1))
	case !(o.Jitter <= 0.5):
		return refuse("Jitter", "%g is too much: use at most 0.5 (0.1 by default)", o.Jitter)
	case o.MemoryLimitBytes < 0:
		return refuse("MemoryLimitBytes", "%d is negative: use 0 for the runtime's own limit", o.MemoryLimitBytes)
	case o.MinTriggerBytes < 0:
		return refuse("MinTriggerBytes", "%d is negative: use 0 for 32 MiB", o.MinTriggerBytes)
	case o.MaxTriggerBytes != 0 && o.MaxTriggerBytes < o.MinTriggerBytes:
		return refuse("MaxTriggerBytes", "%d is below MinTriggerBytes, which is %d: use at least that (then the trigger does not follow the allocation), or 0 for the default", o.MaxTriggerBytes, o.MinTriggerBytes)
	case o.Policy == Drain && len(o.Signals) == 0:
		return refuse("Policy", "Drain has nobody to tell: add a Signal, or use Auto, Idle or Through")
	}
	for _, d := range []struct {
		field string
		value time.Duration
		most  time.Duration
	}{
		{"AnnounceTimeout", o.AnnounceTimeout, 10 * time.Second},
		{"DrainTimeout", o.DrainTimeout, 10 * time.Second},
		{"QuietFor", o.QuietFor, time.Second},
		{"HoldTurn", o.HoldTurn, time.Minute},
		{"Period", o.Period, math.MaxInt64},
	} {
		if d.value < 0 && d.field != "Period" || d.value > d.most {
			return refuse(d.field, "%v is out of range: use up to %v, or 0 for the default", d.value, d.most)
		}
	}
	for i, s := range o.Signals {
		if s == nil {
			return refuse("Signals", "signal %d is nil: leave it out", i)
		}
	}
	for _, p := range o.GCIPeers {
		if !p.IsValid() {
			return refuse("GCIPeers", "an entry is no valid prefix: use netip.MustParsePrefix(\"10.0.0.7/32\")")
		}
	}
	return nil
}

// checkLimit refuses thresholds that the memory limit cuts off.
func (o *Options) checkLimit(limit int64) error {
	if float64(o.MinTriggerBytes) > triggerShare*float64(limit) {
		return &OptionError{"MinTriggerBytes", fmt.Sprintf(
			"%d bytes are over %g of the memory limit, which is %d: lower it to %d, or raise the limit to %d",
			o.MinTriggerBytes, triggerShare, limit, int64(triggerShare*float64(limit)/2), int64(2*float64(o.MinTriggerBytes)/triggerShare))}
	}
	return nil
}
