package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NewFlags makes the flags of a subcommand. Each group is "Title: flag flag".
func (a *App) NewFlags(name, help string, groups ...string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() { writeHelp(a.Stdout, fs, help, groups) }
	return fs
}

// Parse reads flags before and after operands. rest is what follows --.
func (a *App) Parse(fs *flag.FlagSet, args []string) (operands, rest []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	help := fs.Usage
	fs.Usage = func() {} // a wrong flag gets a line, not a page
	fs.SetOutput(io.Discard)
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			help()
			return nil, nil, err
		} else if err != nil {
			return nil, nil, a.Wrong(fs, "%v", err)
		}
		if fs.NArg() == 0 {
			return operands, rest, nil
		}
		operands = append(operands, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// Operands is Parse without a meaning of --.
func (a *App) Operands(fs *flag.FlagSet, args []string) ([]string, error) {
	operands, rest, err := a.Parse(fs, args)
	return append(operands, rest...), err
}

func (a *App) Wrong(fs *flag.FlagSet, format string, args ...any) error {
	fmt.Fprintf(a.Stderr, "evenkeel %s: %s\nevenkeel %s -h tells more\n", fs.Name(), fmt.Sprintf(format, args...),
		fs.Name())
	return ErrUsage
}

// Given reports whether a flag is on the command line.
func Given(fs *flag.FlagSet, name string) (is bool) {
	fs.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// Exclusive finds another flag that is given besides the first.
func Exclusive(fs *flag.FlagSet, first string, others ...string) error {
	for _, name := range others {
		if Given(fs, first) && Given(fs, name) {
			return fmt.Errorf("-%s and -%s exclude each other; leave one out", first, name)
		}
	}
	return nil
}

type List []string

func (l *List) String() string     { return strings.Join(*l, ", ") }
func (l *List) Set(s string) error { *l = append(*l, s); return nil }

func Each[S ~[]T, T any](to *S, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		x, err := parse(text)
		if err == nil {
			*to = append(*to, x)
		}
		return err
	}
}

// Whole is a flag of a number from 1 on.
type Whole int

func (w *Whole) String() string { return strconv.Itoa(int(*w)) }

func (w *Whole) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("write a whole number from 1 on, such as 20")
	}
	*w = Whole(n)
	return nil
}

type Decimal float64

func (d *Decimal) String() string { return strconv.FormatFloat(float64(*d), 'g', -1, 64) }

func (d *Decimal) Set(s string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "/s"), 64) // as vegeta's -rate
	if err != nil {
		return errors.New("write a number, such as 2000 or 0.5")
	}
	*d = Decimal(n)
	return nil
}

// Period is a duration flag. A bare number is seconds.
type Period time.Duration

func (p *Period) String() string { return time.Duration(*p).String() }

func (p *Period) Set(s string) error {
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseFloat(s, 64); nerr == nil && math.Abs(n) < math.MaxInt64/1e9 { // not NaN
		d, err = time.Duration(n*1e9), nil
	}
	if err != nil || d < 0 {
		return errors.New("write a duration such as 500ms, 10s or 2m; a bare number is seconds")
	}
	*p = Period(d)
	return nil
}

// ByteSize is a flag of a size in bytes.
type ByteSize int64

func (s *ByteSize) String() string { return strconv.FormatInt(int64(*s), 10) }

// Set reads a number and a unit, B or none, KiB to TiB, kB to TB.
func (s *ByteSize) Set(text string) error {
	number := strings.TrimRight(text, "kKMGTiB")
	unit, ok := map[string]float64{
		"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "MB": 1e6, "GB": 1e9,
		"TB": 1e12,
	}[text[len(number):]]
	x, err := strconv.ParseFloat(number, 64)
	if bytes := x * unit; !ok || err != nil || !(bytes >= 1 && bytes < math.MaxInt64) {
		return errors.New("write a size such as 900MiB or 2GiB")
	}
	*s = ByteSize(x * unit)
	return nil
}

const (
	helpColumns = 100
	helpIndent  = 22
)

// writeHelp writes a flag in its first group. The last group has the rest.
func writeHelp(w io.Writer, fs *flag.FlagSet, text string, groups []string) {
	fmt.Fprintln(w, strings.TrimSpace(text))
	rest := "Flags:"
	fs.VisitAll(func(f *flag.Flag) { rest += " " + f.Name })
	shown := map[string]bool{}
	for _, g := range append(groups, rest) {
		title, list, _ := strings.Cut(g, ":")
		names := slices.DeleteFunc(strings.Fields(list), func(n string) bool { return shown[n] })
		if len(names) > 0 {
			fmt.Fprintf(w, "\n%s:\n", title)
		}
		for _, n := range names {
			writeFlag(w, fs.Lookup(n))
			shown[n] = true
		}
	}
}

func writeFlag(w io.Writer, f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	line := fmt.Sprintf("%-*s", helpIndent, "  -"+f.Name+" "+value)
	if len(line) > helpIndent {
		fmt.Fprintln(w, line)
		line = strings.Repeat(" ", helpIndent)
	}
	for word := range strings.FieldsSeq(usage) {
		if len(line)+1+len(word) > helpColumns {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", helpIndent)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
