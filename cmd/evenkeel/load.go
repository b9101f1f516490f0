package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"

	"evenkeel.dev/internal/compare"
	"evenkeel.dev/internal/runfile"
	"evenkeel.dev/loadgen"
)

const loadHelp = `
evenkeel load [flags] URL...

Puts HTTP load (HTTP/1.1, HTTP/2, h2c) on a service and prints what its clients would see. Several URLs are
requested one after the other, round and round.

  evenkeel load -c 100 -n 10000 http://127.0.0.1:5000/     closed loop, as hey and ab do: each
                                                           connection waits for its answer
  evenkeel load -rate 2000 -z 30s http://127.0.0.1:5000/   open loop: 2,000 requests a second,
                                                           latency from the time each was due
  evenkeel load -stages 10s:500,1m:500-5000 URL            open loop with steps and ramps of the rate
  evenkeel load -find 'p99 < 20ms' -z 10s URL              the highest rate that holds, in steps of -z

Use the open loop for a tail: in a closed loop a stalled service is sent less, so its slowest
requests are hardly seen ("coordinated omission"). Ctrl-C ends early and still reports.

Exit code 1 says that no request was answered, or none with a status of 2xx or 3xx.
`

func runLoad(ctx context.Context, a *app, args []string) error {
	var l loadFlags
	fs := a.newFlags("load", loadHelp)
	l.register(fs)
	var goal goal
	fs.Var(&goal, "find", "search the highest rate at which this `condition` holds, such as 'p99 < 20ms', in open loops of -z each (default 10s); the first is -rate, or half of what a closed loop gets")
	label := fs.String("label", "load", "`name` of this run in tables")
	urls, rest, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if err := l.checkGiven(fs); err != nil {
		return a.wrong(fs, "%v", err)
	}
	o, err := l.options(append(urls, rest...))
	if err != nil {
		return a.wrong(fs, "%v", err)
	}
	if len(o.Targets) == 0 {
		return a.wrong(fs, "no URL; write one, such as http://127.0.0.1:8080/")
	}
	if goal.text != "" && (len(o.Stages)+len(o.Times) > 0 || o.Requests > 0) {
		return a.wrong(fs, "-find chooses the rates itself, in steps of -z; leave out -stages, -times and -n")
	}
	checked := o
	if goal.text != "" && o.Rate == 0 {
		checked.Rate = 1 // any: it will have one
	}
	if err := loadgen.Check(checked); err != nil {
		return a.wrong(fs, "%v", flagError(err))
	}
	if err := canSave([]string{l.bodyFile}, l.output); err != nil {
		return err
	}
	ctx, release := a.catch(ctx)
	defer release()
	if goal.text != "" {
		f := &finder{app: a, goal: goal, judge: judgeByStretches, measure: a.measureStep, load: o}
		f.file = &runfile.File{Version: runfile.Version, Tool: runfile.Tool(), Machine: runfile.ThisMachine()}
		return f.find(ctx, l.rate, l.output)
	}
	p := &progress{w: a.stderr, terminal: a.terminal}
	res, err := p.load(ctx, o)
	if err != nil {
		return err
	}
	f := &runfile.File{
		Version: runfile.Version, Tool: runfile.Tool(), Machine: runfile.ThisMachine(),
		Runs: []runfile.Run{{Label: *label, Repeat: 1, Load: res}},
	}
	err = a.save(f, l.output) // before printing, which a closed pipe may end
	if l.output != toStdout {
		err = errors.Join(err, compare.WriteLoad(a.stdout, &f.Runs[0], a.style))
	}
	return errors.Join(err, checkRuns(f))
}

// load runs loadgen with the progress shown.
func (p *progress) load(ctx context.Context, o loadgen.Options) (*loadgen.Result, error) {
	o.OnProgress, o.ProgressInterval = p.update, p.interval()
	p.warmup, p.duration, p.timeout, p.drain = o.Warmup, loadDuration(&o), o.Timeout, cmp.Or(o.Drain, o.Timeout)
	defer p.clear()
	return putLoad(ctx, o)
}

// putLoad runs loadgen with the processors that it needs.
func putLoad(ctx context.Context, o loadgen.Options) (*loadgen.Result, error) {
	if o.Open() && os.Getenv("GOMAXPROCS") == "" {
		// The pacer's thread sleeps in the kernel and holds a P there: one for it alone.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	}
	return loadgen.Run(ctx, o)
}
