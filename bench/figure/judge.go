package figure

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Again is what the flags say with which a driver judges a recorded file in place of measuring.
type Again struct {
	File  string
	Write bool
}

// Flags defines -judge and -w.
func (a *Again) Flags(fs *flag.FlagSet) {
	fs.StringVar(&a.File, "judge", "", "judge the figures of this recorded `file` again, from its raw results, and measure nothing")
	fs.BoolVar(&a.Write, "w", false, "with -judge: write the figures into the file, beside its raw results")
}

// Recorded is what a file of results holds beside its figures.
type Recorded struct {
	raw map[string]json.RawMessage
}

// Read decodes the raw results of a key into what v points to, and reports whether there are any.
func (r Recorded) Read(key string, v any) (bool, error) {
	text, ok := r.raw[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("raw results %q: %w", key, err)
	}
	return true, nil
}

// Keys returns the keys of the raw results that begin with prefix, in order.
func (r Recorded) Keys(prefix string) (keys []string) {
	for k := range r.raw {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// Judge has judge add the figures of the recorded file to a set, as it does after a live run, and prints them. Figures
// of the file that the raw results do not give any more stay, and are said. Parts of the benchmark whose names begin
// with its name have their files judged, too. The set has the file's Benchmark.
func (a Again) Judge(benchmark string, out io.Writer, judge func(*Set, Recorded) error) error {
	text, _, now, err := a.judge(benchmark, out, judge)
	if err != nil || !a.Write {
		return err
	}
	return rewrite(a.File, text, now)
}

// Unchanged judges the files of a pattern and returns an error where one does not say what comes of its raw results.
func Unchanged(benchmark, pattern string, judge func(*Set, Recorded) error) error {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files %s: %w", pattern, err)
	}
	for _, name := range names {
		_, was, now, err := Again{File: name}.judge(benchmark, io.Discard, judge)
		if err != nil {
			return err
		}
		same := func(f, g Figure) bool { return f.Name == g.Name && f.Verdict == g.Verdict && f.text() == g.text() }
		if !slices.EqualFunc(was, now, same) {
			return fmt.Errorf("%s does not say what its raw results do: write it with -judge %s -w, and read the diff", name, filepath.Base(name))
		}
	}
	return nil
}

// judge returns the file's text, and its figures as they are in it and as they are now.
func (a Again) judge(benchmark string, out io.Writer, judge func(*Set, Recorded) error) (text []byte, old, now []Figure, err error) {
	if text, err = os.ReadFile(a.File); err != nil {
		return nil, nil, nil, err
	}
	var was struct {
		Benchmark string
		Figures   []Figure
		Raw       map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &was); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", a.File, err)
	}
	if was.Benchmark != benchmark && !strings.HasPrefix(was.Benchmark, benchmark+"-") {
		return nil, nil, nil, fmt.Errorf("%s is of benchmark %q; name one of %s, %s-DATE.json", a.File, was.Benchmark, benchmark, benchmark)
	}
	s := &Set{Benchmark: was.Benchmark, Raw: map[string]any{}, Out: out}
	if err := judge(s, Recorded{was.Raw}); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", a.File, err)
	}
	s.keep(slices.Clone(was.Figures))
	return text, was.Figures, s.Figures, nil
}

// keep puts the new figures in the order of the old ones, which results are cited by, and those that were not made again between them.
func (s *Set) keep(old []Figure) {
	var all []Figure
	for _, f := range old {
		i := slices.IndexFunc(s.Figures, func(g Figure) bool { return g.Name == f.Name })
		if i >= 0 {
			all = append(all, s.Figures[i])
			s.Figures = slices.Delete(s.Figures, i, i+1)
			continue
		}
		f.byRange()
		all = append(all, f)
		fmt.Fprintf(s.Out, "%-58s %-42s %-22s %s: %s\n", f.Name, f.text(), f.Target, f.Verdict, f.Note)
	}
	s.Figures = append(all, s.Figures...)
}

// UnmarshalJSON reads a figure. Files of before there were three verdicts have "met": true or false.
func (f *Figure) UnmarshalJSON(text []byte) error {
	type plain Figure // without this method
	was := struct {
		*plain
		Met *bool `json:"met"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(text, &was); err != nil {
		return err
	}
	if f.Verdict == "" && was.Met != nil {
		f.Verdict = Missed
		if *was.Met {
			f.Verdict = Met
		}
	}
	return nil
}

// byRange judges a figure whose runs are not in the raw results. All that is known of them is their range.
func (f *Figure) byRange() {
	f.Note = "the raw results do not have what it was made of"
	low, high := math.Inf(-1), math.Inf(1)
	var err error
	switch bound, to, between := strings.Cut(f.Target, " to "); {
	case between:
		_, err = fmt.Sscan(bound+" "+to, &low, &high)
	case strings.HasPrefix(f.Target, "<= "):
		_, err = fmt.Sscan(f.Target[3:], &high)
	case strings.HasPrefix(f.Target, ">= "):
		_, err = fmt.Sscan(f.Target[3:], &low)
	default:
		err = errors.New("words")
	}
	if err != nil || len(f.Range) != 2 {
		return // words, or a single value: as it was judged
	}
	f.Verdict = verdict(f.Range[0], f.Range[1], low, high)
	f.Note += " but the range of the runs"
}

// verdict holds an interval against what it should lie in.
func verdict(from, to, low, high float64) Verdict {
	switch {
	case to < low || from > high:
		return Missed
	case low <= from && to <= high:
		return Met
	}
	return CannotTell
}

// rewrite puts figures into the text of a file, and leaves every other byte of it as it was.
func rewrite(name string, text []byte, figures []Figure) error {
	at, end, err := place(text, "figures")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b, err := json.MarshalIndent(figures, " ", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, slices.Concat(text[:at], b, text[end:]), 0o644)
}

// place returns where in an object's text the value of a key is.
func place(text []byte, key string) (from, to int, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil { // the brace
		return 0, 0, err
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return 0, 0, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return 0, 0, err
		}
		if k == key {
			to := int(dec.InputOffset())
			return to - len(v), to, nil
		}
	}
	return 0, 0, fmt.Errorf("it has no %q", key)
}
