package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// New returns what the command line asks for. help is for -h.
func New(a *cli.App, help string, args []string) (*Runner, error) {
	f := &flags{readyTimeout: cli.Period(30 * time.Second), stopTimeout: cli.Period(10 * time.Second), repeat: 1}
	groups := slices.Concat([]string{
		"Common flags: url variant repeat rate c n z explain fail-if o",
		"The server: ready ready-timeout stop-timeout pprof",
		"Rounds: until budget base figures",
	}, load.Groups, []string{"Results: html traces"})
	fs := a.NewFlags("run", help, groups...)
	f.load.Register(fs)
	fs.Var(&f.urls, "url", "load this `URL`; repeatable: requests go to one after the other")
	fs.StringVar(&f.ready, "ready", "", "`URL` that answers when the server is ready (default: the first -url)")
	fs.Var(&f.readyTimeout, "ready-timeout", "give up if the server is not ready after this `duration`")
	fs.Var(&f.stopTimeout, "stop-timeout", "kill the server this `duration` after SIGTERM")
	fs.StringVar(&f.pprof, "pprof", "", "`URL` of the server's /debug/pprof/, or off (default: at the first -url)")
	fs.Var(&f.variants, "variant",
		"a way to start it, `'LABEL: ARGS'`, such as 'no gc: GOGC=off' or 'big: -cache=1000'; repeatable")
	f.judging.Register(fs)
	fs.Var((*cli.Whole)(&f.repeat), "repeat", "measure each variant so many `times`, in rounds of random order")
	f.until.register(fs)
	fs.StringVar(&f.html, "html", "", "write a page to this `file`")
	fs.BoolVar(&f.explain, "explain", false, "then trace the same load for 5 s, and say why requests were slow")
	fs.StringVar(&f.traces, "traces", "", "keep the traces of -explain in this `folder`, as LABEL-ROUND.trace; "+
		"evenkeel explain -html makes a page of one")
	operands, command, err := a.Parse(fs, args)
	if err != nil {
		return nil, err
	}
	r := &Runner{app: a, flags: f, command: command, now: time.Now}
	r.take = r.measure
	switch {
	case len(operands) > 0:
		return nil, a.Wrong(fs, "%q is before --; write the load's URL after -url, and the command after --",
			operands[0])
	case len(command) == 0:
		return nil, a.Wrong(fs, "no command; write it after --, as in evenkeel run -url URL -- ./server")
	case len(f.urls) == 0 && f.load.Mix.File == "":
		return nil, a.Wrong(fs, "no URL to load; write it behind -url, or a file of them behind -targets")
	case f.html == cli.ToStdout:
		return nil, a.Wrong(fs, "-html - would mix with the table; use -o FILE, then evenkeel compare -html - FILE")
	}
	if err := cmp.Or(load.CheckGiven(fs), cli.Exclusive(fs, "until", "repeat", "explain", "traces"),
		f.judging.Check(), r.checkExplain(cli.Given(fs, "repeat")), r.prepare(),
		r.checkUntil(), r.checkJudging()); err != nil {
		return nil, a.Wrong(fs, "%v", err)
	}
	if err := cli.CanSave(f.load.Inputs(), f.load.Output, f.html); err != nil {
		return nil, err
	}
	if f.traces != "" {
		if err := os.MkdirAll(f.traces, 0o755); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Runner) prepare() error {
	f := r.flags
	f.load.Drawn = len(f.variants) > 1
	var err error
	if r.load, err = f.load.Options(f.urls); err != nil {
		return err
	}
	if err := load.Fit(&r.load); err != nil {
		return err
	}
	if err := loadgen.Check(r.load); err != nil {
		return load.FlagError(err)
	}
	first, err := url.Parse(r.load.Targets[0].URL)
	if err != nil {
		return err
	}
	ready := first
	if f.ready != "" {
		if ready, err = fetch.ParseURL(f.ready); err != nil {
			return fmt.Errorf("-ready %w", err)
		}
	}
	f.ready = ready.String()
	if f.pprof != "off" {
		if f.pprof, err = load.PProfAt(f.pprof, first); err != nil {
			return err
		}
	}
	traced := map[string]string{}
	for _, s := range f.variants {
		v, err := parseVariant(s)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.variants, func(o variant) bool { return o.label == v.label }) {
			return fmt.Errorf("two variants are called %q; give each a label of its own", v.label)
		}
		if file := r.traceFile(v.label, 1); file != "" {
			if other, ok := traced[file]; ok {
				return fmt.Errorf("the traces of %q and %q would both be %s; let the labels differ in letters", other,
					v.label, file)
			}
			traced[file] = v.label
		}
		r.variants = append(r.variants, v)
	}
	if len(r.variants) == 0 {
		r.variants = []variant{{label: "run"}}
	}
	r.File = runfile.File{Version: runfile.Version, Tool: runfile.Tool(), Machine: runfile.ThisMachine()}
	return nil
}

// Run measures in rounds, and reports even if interrupted.
func (r *Runner) Run(ctx context.Context) error {
	ctx, release := r.app.Catch(ctx)
	defer release()
	err := r.MeasureAll(ctx)
	if len(r.File.Runs) == 0 {
		return err
	}
	c := r.Compared()
	// Files first, because a closed pipe may end the printing.
	err = errors.Join(err, r.app.Save(&r.File, r.flags.load.Output),
		r.app.SavePage(r.flags.html, func(w io.Writer) error { return page.Compare(w, c) }))
	changes, changesErr := r.changes()
	err = errors.Join(err, changesErr)
	if r.flags.load.Output != cli.ToStdout {
		err = errors.Join(err, r.print(c), r.printExplanations(changes))
	}
	if !errors.Is(err, cli.ErrInterrupted) {
		err = errors.Join(err, load.CheckRuns(&r.File))
	}
	lines, outcome := r.flags.judging.FailIf.Check(c)
	r.app.Say("run", lines...)
	return cmp.Or(errors.Join(err, r.unexplained), outcome)
}

func (r *Runner) print(c *compare.Comparison) error {
	if err := c.Text(r.app.Stdout, r.app.Style); err != nil {
		return err
	}
	for _, col := range c.Columns {
		a := col.Median().Alloc
		if a == nil || len(a.Lines) == 0 {
			continue
		}
		fmt.Fprintf(r.app.Stdout, "\n%s allocated %s\n", col.Label, textfmt.Bytes(float64(a.Bytes)))
		if err := observe.WriteSites(r.app.Stdout, a, r.app.Style); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) checkExplain(repeatGiven bool) error {
	f := r.flags
	f.explain = f.explain || f.traces != ""
	if f.explain && len(f.variants) > 1 && !repeatGiven {
		f.repeat = explainRounds
	}
	switch {
	case !f.explain:
		return nil
	case f.pprof == "off":
		return fmt.Errorf("-explain takes its trace from the server's /debug/pprof/, but -pprof is off")
	case f.load.Output == cli.ToStdout:
		return fmt.Errorf("-explain prints below the table, and -o - leaves it out; write the runs to a file")
	}
	return nil
}

type variant struct {
	label string
	env   []string // NAME=VALUE
	args  []string
}

const variantForm = "write it as 'LABEL: [NAME=VALUE...] [ARG...]', such as 'no gc: GOGC=off'"

func parseVariant(s string) (variant, error) {
	label, rest, ok := strings.Cut(s, ":")
	v := variant{label: strings.TrimSpace(label)}
	if !ok || v.label == "" {
		return v, fmt.Errorf("-variant %q: no label; %s", s, variantForm)
	}
	words, err := splitWords(rest)
	if err != nil {
		return v, fmt.Errorf("-variant %q: %w; %s", s, err, variantForm)
	}
	for len(words) > 0 && assignment.MatchString(words[0]) {
		v.env = append(v.env, words[0])
		words = words[1:]
	}
	v.args = words
	return v, nil
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

var (
	word   = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	quoted = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// splitWords splits at blanks outside of quotes.
func splitWords(s string) ([]string, error) {
	if strings.ContainsAny(word.ReplaceAllString(s, ""), `'"`) {
		return nil, errors.New("a quote is not closed")
	}
	words := word.FindAllString(s, -1)
	for i := range words {
		words[i] = quoted.ReplaceAllString(words[i], "$1$2")
	}
	return words, nil
}
