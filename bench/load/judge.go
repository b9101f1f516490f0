package main

import (
	"strings"

	"evenkeel.dev/bench/figure"
)

// judge adds the figures of all parts that the raw results hold, as each part does when it was measured.
func judge(set *figure.Set, raw figure.Recorded) error {
	b := &bench{set: set}
	// both reads the samples of a part, ours and the peers'.
	both := func(key string) (ours, theirs []sample, ok bool, err error) {
		var all []sample
		ok, err = raw.Read(key, &all)
		for _, s := range all {
			if s.Tool == "evenkeel" || s.Tool == "loadgrpc" {
				ours = append(ours, s)
			} else {
				theirs = append(theirs, s)
			}
		}
		return ours, theirs, ok, err
	}
	if ours, heys, ok, err := both("closed"); err != nil {
		return err
	} else if ok {
		b.closedFigures(ours, heys)
	}
	for _, path := range openPaths {
		ours, theirs, ok, err := both("open " + path)
		if err != nil {
			return err
		}
		var rate int
		if _, err := raw.Read("open "+path+" rate", &rate); err != nil {
			return err
		}
		if ok {
			b.openFigures(path, rate, ours, theirs)
		}
	}
	if ours, heys, ok, err := both("stall"); err != nil {
		return err
	} else if ok {
		b.stallFigures(ours, heys)
	}
	var h2 http2Runs
	if ok, err := raw.Read("http2", &h2); err != nil {
		return err
	} else if ok {
		b.beside(overHTTP2, h2.Ours, h2.Peers)
	}
	if ours, ghzs, ok, err := both("grpc"); err != nil {
		return err
	} else if ok {
		b.beside(overGRPC, ours, map[string][]sample{"ghz": ghzs})
	}
	for _, key := range raw.Keys(stallOver) {
		var ss []sample
		if _, err := raw.Read(key, &ss); err != nil {
			return err
		}
		b.stalled("stalling service over "+strings.TrimPrefix(key, stallOver), ss)
	}
	return nil
}
