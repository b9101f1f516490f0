package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/proc"
	"evenkeel.dev/cmd/evenkeel/internal/run"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

const demoHelp = `
evenkeel demo [flags]

Shows in two minutes what evenkeel is for, with two programs of the repository's examples: search
and hello. make demo builds them and runs this.

  1. why the requests of a recorded service were slow
  2. whether a fix of that service helps, live, in rounds of random order
  3. what collections under live traffic cost two replicas, and what gates change
`

// demoLoads are how long the demo's parts put load on.
type demoLoads struct {
	rounds, busy           int // busy: of a machine that has other work
	round, trace, replicas time.Duration
}

var (
	demoUsual = demoLoads{rounds: 7, busy: 12, round: 1700 * time.Millisecond, trace: 2 * time.Second, replicas: 9 * time.Second}
	demoFull  = demoLoads{rounds: 12, busy: 12, round: 5 * time.Second, trace: 2 * time.Second}
	demoQuick = demoLoads{rounds: 2, busy: 2, round: 300 * time.Millisecond, trace: 300 * time.Millisecond, replicas: time.Second}
)

const (
	demoRate     = 600 // requests per second, for 1,000 of them in a round: p99 needs as many
	demoLiveMiB  = 64  // that each replica keeps
	demoReplicas = 500 // requests per second
	demoWait     = 30 * time.Second
	demoFeed     = 400 * time.Millisecond  // that the feed takes to answer
	demoLook     = 1100 * time.Millisecond // at the machine: shares of less than a second say nothing
)

// demo is the demonstration under way.
type demo struct {
	app   *cli.App
	bin   string // folder of search and hello
	out   string // folder of the pages
	loads demoLoads

	record  string // file for the runs of part 2, measured alone; "": the demonstration
	machine demoMachine
}

func runDemo(ctx context.Context, a *cli.App, args []string) error {
	d := &demo{app: a, loads: demoUsual}
	fs := a.NewFlags("demo", demoHelp)
	fs.StringVar(&d.bin, "bin", "bin", "`folder` of the programs search and hello")
	fs.StringVar(&d.out, "out", "demo", "`folder` for the pages")
	quick := fs.Bool("quick", false, "load each part for a moment: does everything run?")
	fs.StringVar(&d.record, "record", "", "measure part 2 alone, in 12 long rounds, and write the runs to this `file`; evenkeel must be of a clean commit")
	operands, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	if len(operands)+len(rest) > 0 {
		return a.Wrong(fs, "it reads nothing; leave out %q", append(operands, rest...)[0])
	}
	if *quick {
		d.loads = demoQuick
	}
	parts := []func(context.Context) error{d.why, d.fix, d.gates, d.next}
	if d.record != "" {
		if tool := runfile.Tool(); !ofCommit.MatchString(tool) {
			return fmt.Errorf("-record: this is %s, which is not of a clean commit: commit the changes, and build it by make bench-fix", tool)
		}
		if err := cli.CanSave(nil, d.record); err != nil {
			return err
		}
		d.loads, parts = demoFull, parts[1:2]
	}
	for _, name := range []string{"search", "hello"} {
		if _, err := os.Stat(d.program(name)); err != nil {
			return fmt.Errorf("%w; build it with make demo, in a clone of the repository", err)
		}
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	ctx, release := a.Catch(ctx)
	defer release()
	defer cli.OutlivePipe()()
	d.machine.quota = cpuQuota(os.DirFS("/"))
	for i, part := range parts {
		if i > 0 {
			d.say("")
		}
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ofCommit matches a version that the go command has stamped with a commit, and no changes to it.
var ofCommit = regexp.MustCompile(`[ -][0-9a-f]{12}$`)

func (d *demo) program(name string) string { return filepath.Join(d.bin, name) }

func (d *demo) say(format string, a ...any) { fmt.Fprintf(d.app.Stdout, format+"\n", a...) }

func (d *demo) head(text string) { d.say("%s", d.app.Style.Bold(text)) }

// quiet returns the app with nothing on standard error but a terminal's progress.
func (d *demo) quiet() *cli.App {
	a := *d.app
	a.Stdout = io.Discard
	if !a.Terminal {
		a.Stderr = io.Discard
	}
	return &a
}

// why explains the recorded trace.
func (d *demo) why(ctx context.Context) error {
	d.head("1. Why was it slow?  evenkeel explain -demo: the recorded trace of a search service")
	a, wrote := *d.app, &strings.Builder{}
	a.Stderr = wrote
	err := runExplain(ctx, &a, []string{"-demo", "-html", filepath.Join(d.out, "explain.html")})
	d.say("\n%s", strings.TrimSpace(wrote.String()))
	return err
}

// fix measures the service of that trace, with the mistake and without.
func (d *demo) fix(ctx context.Context) error {
	rounds, err := d.rounds(ctx)
	if err != nil {
		return err
	}
	d.head(fmt.Sprintf("2. Did the fix help?  evenkeel run -variant: that service live, %s in random order", textfmt.Plural(rounds, "round")))
	feed, stop, err := serveFeed(demoFeed)
	if err != nil {
		return err
	}
	defer stop()
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	a := d.quiet()
	r, err := run.New(a, "", []string{
		"-url", "http://" + addr + "/search?term=telescope&cnn=on", "-ready", "http://" + addr + "/",
		"-rate", fmt.Sprint(demoRate), "-z", d.loads.round.String(), "-warmup", "200ms", "-repeat", fmt.Sprint(rounds),
		"-pprof", "off", "-figures", "p50,p99",
		"-variant", "slow: -refresh=locked", "-variant", "fixed: -refresh=free",
		"--", d.program("search"), "-addr", addr, "-alloc=lean", "-ttl=1s", "-feeds", "cnn=http://" + feed,
	})
	if err != nil {
		return err
	}
	if err := r.MeasureAll(ctx); err != nil {
		return err
	}
	now, err := r.ExplainAgain(ctx, 1, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addr, d.loads.trace.Seconds()))
	if err != nil {
		return err
	}
	c := r.Compared()
	d.compared(c)
	d.say("explain now: %s", textfmt.Printable(now.Sentence))
	a.Stderr = d.app.Stdout
	err = a.SavePage(filepath.Join(d.out, "fix.html"), func(w io.Writer) error { return page.Compare(w, c) })
	if err != nil || d.record == "" {
		return err
	}
	for i := range r.File.Runs {
		r.File.Runs[i].Load.Series = loadgen.Series{} // time lines are nine tenths of the file
	}
	return a.Save(&r.File, d.record)
}

// rounds returns how many to measure. More of them tell the variants apart on a busy machine. The
// figures do not choose the number, so their intervals hold.
func (d *demo) rounds(ctx context.Context) (int, error) {
	watch := runfile.NewWatch(runfile.Watched{Elsewhere: true})
	select {
	case <-time.After(demoLook):
	case <-ctx.Done():
		return 0, cli.ErrInterrupted
	}
	d.machine.add(watch.End())
	why := d.machine.String()
	if why == "" {
		return d.loads.rounds, nil
	}
	d.say("The rest takes longer and is slower here, because %s.\n", why)
	return d.loads.busy, nil
}

// compared prints the two figures, and what the rounds say about them.
func (d *demo) compared(c *compare.Comparison) {
	t := textfmt.NewTable(6)
	t.Add(d.app.Style.Bold, []string{"", c.Columns[0].Label, c.Columns[1].Label, "ratio", "95% interval", ""})
	for _, name := range []string{"p50", "p99"} {
		row := c.Row(name)
		if row == nil {
			continue
		}
		cells := []string{"  " + name, row.Format(row.Cells[0].Median), row.Format(row.Cells[1].Median)}
		if x := row.Result(1); x == nil || x.Verdict == tailstat.VerdictCannotTell {
			cells = append(cells, "-", compare.Bounds(x), "inconclusive")
		} else {
			cells = append(cells, compare.Ratio(x), compare.Bounds(x), x.Verdict.String())
		}
		t.Add(nil, cells)
	}
	d.table(t)
}

func (d *demo) table(t *textfmt.Table) {
	var b strings.Builder
	t.Render(&b)
	d.say("%s", strings.TrimSuffix(b.String(), "\n"))
}

// next says what to run after the demo.
func (d *demo) next(context.Context) error {
	d.head("4. What next")
	d.say("  your service    %s explain 127.0.0.1:6060", d.program("evenkeel"))
	d.say("  your balancer   make demo-haproxy")
	d.say("  live recorder   %s -admin 127.0.0.1:5051   # open http://127.0.0.1:5051/debug/evenkeel/", d.program("hello"))
	return nil
}

// stop ends a program of the demo; a second signal to evenkeel makes it quick.
func (d *demo) stop(p *proc.Process) {
	ctx, cancel := d.app.Patience()
	defer cancel()
	_ = p.Stop(ctx, demoWait) // killed, if it must be
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// serveFeed serves the feed that search fetches, each time after a delay.
func serveFeed(delay time.Duration) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var feed strings.Builder
	feed.WriteString(`<rss version="2.0"><channel>`)
	for i := range 100 {
		fmt.Fprintf(&feed, "<item><title>Report %d</title><description>The telescope at station %d sees a comet.</description></item>", i, i)
	}
	feed.WriteString("</channel></rss>")
	srv := &http.Server{ReadHeaderTimeout: demoWait, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(delay):
			_, _ = io.WriteString(w, feed.String())
		case <-r.Context().Done():
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // until it is closed
	}()
	return l.Addr().String(), func() { srv.Close(); <-done }, nil
}
