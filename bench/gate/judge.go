package main

import (
	"errors"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// keep puts what was measured into the raw results.
func (d *driver) keep() {
	if len(d.samples) > 0 {
		d.set.Raw["runs"] = d.samples
	}
	if len(d.idled) > 0 {
		d.set.Raw["idle"] = d.idled
	}
	if len(d.cases) > 0 {
		d.set.Raw["polls"] = d.cases
	}
}

// judge adds the figures of all parts that the raw results hold, as each part does when it was measured.
func judge(set *figure.Set, raw figure.Recorded) error {
	d := &driver{set: set, out: set.Out, original: gcigo}
	var ns map[string][]float64
	var load, byEnvoy, byGroup *loadgen.Result
	var killed, killedByEnvoy, killedByGroup int64
	var lost int
	errs := []error(nil)
	for key, v := range map[string]any{
		"runs": &d.samples, "idle": &d.idled, "polls": &d.cases, enterExitKey: &ns, "load": &load, killedKey: &killed,
		envoyFaults + "load": &byEnvoy, envoyFaults + killedKey: &killedByEnvoy, raftFaults + "load": &byGroup, raftFaults + killedKey: &killedByGroup, raftFaults + lostKey: &lost,
	} {
		_, err := raw.Read(key, v)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.pairFigures()
	d.singleFigures()
	d.costFigures(ns)
	d.idleFigures()
	d.slowFigures()
	d.pollFigures()
	d.helloFigures()
	d.turnsFigures()
	for _, name := range parts {
		if t, ok := teams[name]; ok {
			d.teamFigures(t)
		}
	}
	if load != nil {
		d.faultFigures("", load, killed)
	}
	if byEnvoy != nil {
		d.faultFigures(behindEnvoy, byEnvoy, killedByEnvoy)
	}
	if byGroup != nil {
		d.lostFigure(lost)
		d.faultFigures(toAGroup, byGroup, killedByGroup)
	}
	return nil
}
