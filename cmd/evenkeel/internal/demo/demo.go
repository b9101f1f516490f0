// Package demo shows what evenkeel does, with two programs of the examples.
package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/run"
	"evenkeel.dev/internal/proc"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// loads are open loops. Their rates are per second, and low enough for the programs to answer.
type loads struct {
	rounds                 int
	round, trace, replicas time.Duration
	rate, replicaRate      float64
}

var (
	usual = loads{
		rounds: 8, round: 1700 * time.Millisecond, trace: 2 * time.Second,
		replicas:    9 * time.Second,
		rate:        600, // because p99 needs 1,000 requests per round
		replicaRate: 500,
	}
	// quick is for tests, whose programs have the race detector.
	quick = loads{
		rounds: 2, round: 300 * time.Millisecond, trace: 300 * time.Millisecond,
		replicas: time.Second,
		rate:     100, replicaRate: 100,
	}
)

const (
	liveMiB   = 64
	patience  = 30 * time.Second
	feedDelay = 400 * time.Millisecond
)

type Demo struct {
	App   *cli.App
	Bin   string
	Out   string
	Quick bool

	Explain func(ctx context.Context, a *cli.App, args []string) error

	loads loads
}

func (d *Demo) Run(ctx context.Context) error {
	d.loads = usual
	if d.Quick {
		d.loads = quick
	}
	for _, name := range []string{"search", "hello"} {
		if _, err := os.Stat(d.program(name)); err != nil {
			return fmt.Errorf("%w; build it with make demo, in a clone of the repository", err)
		}
	}
	if err := os.MkdirAll(d.Out, 0o755); err != nil {
		return err
	}
	ctx, release := d.App.Catch(ctx)
	defer release()
	defer cli.OutlivePipe()()
	for i, part := range []func(context.Context) error{d.why, d.fix, d.gates, d.next} {
		if i > 0 {
			d.say("")
		}
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *Demo) program(name string) string { return filepath.Join(d.Bin, name) }

func (d *Demo) say(format string, a ...any) { fmt.Fprintf(d.App.Stdout, format+"\n", a...) }

func (d *Demo) head(text string) { d.say("%s", d.App.Style.Bold(text)) }

func (d *Demo) quiet() *cli.App {
	a := *d.App
	a.Stdout = io.Discard
	if !a.Terminal {
		a.Stderr = io.Discard
	}
	return &a
}

func (d *Demo) why(ctx context.Context) error {
	d.head("1. Why was it slow?  evenkeel explain -demo: the recorded trace of a search service")
	a, wrote := *d.App, &strings.Builder{}
	a.Stderr = wrote
	err := d.Explain(ctx, &a, []string{"-demo", "-html", filepath.Join(d.Out, "explain.html")})
	d.say("\n%s", strings.TrimSpace(wrote.String()))
	return err
}

func (d *Demo) fix(ctx context.Context) error {
	d.head(fmt.Sprintf("2. Did the fix help?  evenkeel run -variant: that service live, %s in random order",
		textfmt.Plural(d.loads.rounds, "round")))
	feed, stop, err := serveFeed(feedDelay)
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
		"-rate", fmt.Sprint(d.loads.rate), "-z", d.loads.round.String(), "-warmup", "200ms",
		"-repeat", fmt.Sprint(d.loads.rounds), "-pprof", "off", "-figures", "p50,p99",
		"-variant", "slow: -refresh=locked", "-variant", "fixed: -refresh=free",
		"--", d.program("search"), "-addr", addr, "-alloc=lean", "-ttl=1s", "-feeds", "cnn=http://" + feed,
	})
	if err != nil {
		return err
	}
	if err := r.MeasureAll(ctx); err != nil {
		return err
	}
	now, err := r.ExplainAgain(ctx, 1, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addr,
		d.loads.trace.Seconds()))
	if err != nil {
		return err
	}
	c := r.Compared()
	d.compared(c)
	d.say("explain now: %s", textfmt.Printable(now.Sentence))
	a.Stderr = d.App.Stdout
	return a.SavePage(filepath.Join(d.Out, "fix.html"), func(w io.Writer) error { return page.Compare(w, c) })
}

func (d *Demo) compared(c *compare.Comparison) {
	t := textfmt.NewTable(6)
	t.Add(d.App.Style.Bold, []string{"", c.Columns[0].Label, c.Columns[1].Label, "ratio", "95% interval", ""})
	for _, name := range []string{"p50", "p99"} {
		row := c.Row(name)
		if row == nil {
			continue
		}
		cells := []string{"  " + name, row.Format(row.Cells[0].Median), row.Format(row.Cells[1].Median)}
		if x := row.Results[1]; x == nil || x.Verdict == tailstat.VerdictInconclusive {
			cells = append(cells, "-", compare.Bounds(x), "inconclusive")
		} else {
			cells = append(cells, compare.Ratio(x), compare.Bounds(x), x.Verdict.String())
		}
		t.Row(cells...)
	}
	d.table(t)
}

func (d *Demo) table(t *textfmt.Table) {
	var b strings.Builder
	t.Render(&b)
	d.say("%s", strings.TrimSuffix(b.String(), "\n"))
}

func (d *Demo) next(context.Context) error {
	d.head("4. What next")
	d.say("  your service    %s explain 127.0.0.1:6060", d.program("evenkeel"))
	d.say("  your balancer   make demo-haproxy")
	d.say("  live recorder   %s -admin 127.0.0.1:5051   # open http://127.0.0.1:5051/debug/evenkeel/",
		d.program("hello"))
	return nil
}

func (d *Demo) stop(p *proc.Process) {
	_ = p.Stop(d.App.Hurry(), patience) // or kill it
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func serveFeed(delay time.Duration) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var feed strings.Builder
	feed.WriteString(`<rss version="2.0"><channel>`)
	for i := range 100 {
		fmt.Fprintf(&feed, "<item><title>Report %d</title><description>The telescope at station %d sees a "+
			"comet.</description></item>", i, i)
	}
	feed.WriteString("</channel></rss>")
	srv := &http.Server{
		ReadHeaderTimeout: patience,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(delay):
				_, _ = io.WriteString(w, feed.String())
			case <-r.Context().Done():
			}
		}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	return l.Addr().String(), func() { srv.Close(); <-done }, nil
}
