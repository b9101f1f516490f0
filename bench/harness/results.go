//go:build linux

package harness

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// set is a file of results.
type set struct {
	Benchmark string          `json:"benchmark"`
	What      string          `json:"what,omitempty"`
	Started   time.Time       `json:"started"`
	Machine   json.RawMessage `json:"machine"` // as evenkeel writes it to run.json
	Versions  versions        `json:"versions"`
	Complete  bool            `json:"complete,omitempty"` // all rounds, none failed
	Seconds   float64         `json:"seconds,omitempty"`  // that it took
	Figures   []figure        `json:"figures"`
	Raw       struct {
		Runs []*Run `json:"runs"`
	} `json:"raw"`

	name string
	out  io.Writer
}

type versions struct {
	Go       string            `json:"go"`
	Modules  map[string]string `json:"modules"`
	Revision string            `json:"revision"`
}

func newSet(c *Case, out io.Writer) *set {
	revision, err := commit(".", c.Name, testing.Testing())
	if err != nil {
		revision = "not known: " + err.Error()
	}
	return &set{
		Benchmark: c.Name, What: c.What, Started: time.Now().UTC(), Machine: thisMachine(), out: out,
		Versions: versions{runtime.Version(), modules(), revision},
	}
}

// programs are what a case or its whole group measures and does not import.
var programs = map[string][]string{
	"explain/search":   {"examples/search"},
	"explain/services": {"cmd/evenkeel"},
	"fastc/server":     {"cmd/evenkeel", "examples/fastcserver"},
	"gate":             {"examples/msgpush"},
	"gate/raft":        {"examples/raftkv"},
	"gate/wholepath":   {"examples/wholepath"},
	"gc":               {"cmd/evenkeel", "examples/search"},
	"load":             {"cmd/evenkeel"},
	"recorder":         {"examples/hello", "examples/msgpush", "examples/search"},
	"recorder/targets": {"cmd/evenkeel"},
	"tailstat":         {"bench/harness"},
	"tailstat/runs":    {"examples/hello", "examples/msgpush", "examples/search"},
}

// measured returns the files and the peers that a case measures. The files are the folders of its
// group's packages and of what they import, as far as bench has their modules (-e). If a test runs the
// case, they have bench's test files too. For "" they are all files that any case may measure.
func measured(name string, byTest bool) (files, peersOf []string, err error) {
	files = []string{":(top)"}
	if name != "" {
		group, _, _ := strings.Cut(name, "/")
		args := []string{
			"list", "-e", "-deps", fmt.Sprintf("-test=%v", byTest),
			"-f", "{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}", "./" + group + "/...",
		}
		for _, program := range slices.Concat(programs[group], programs[name]) {
			args = append(args, "evenkeel.dev/"+program)
		}
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(Root(), "bench")
		out, err := cmd.Output()
		if err != nil {
			return nil, nil, fmt.Errorf("which files %s measures: %w", name, err)
		}
		files = []string{":(top)go.mod", ":(top,glob)*.go"}
		for line := range strings.Lines(string(out)) {
			module, path, _ := strings.Cut(line, " ")
			pkg, ours := strings.CutPrefix(strings.Fields(path)[0], "evenkeel.dev/")
			if ours {
				files = append(files, ":(top,glob)"+pkg+"/*")
			}
			tests := byTest && strings.HasPrefix(pkg, "bench/") || pkg == "gcgate" // a benchmark of gcgate is a case
			if ours && !tests {
				files = append(files, ":(top,exclude,glob)"+pkg+"/*_test.go")
			}
			if slices.Contains(peers, module) && !slices.Contains(peersOf, module) {
				peersOf = append(peersOf, module)
			}
		}
	}
	for _, no := range []string{
		"bench/results/**", "**/*.md", "tools/**", "bench/main.go", "bench/harness/judge.go", "bench/harness/page.go",
		"bench/harness/results.go", "bench/harness/*_test.go",
	} {
		files = append(files, ":(top,exclude,glob)"+no)
	}
	return files, peersOf, nil
}

// commit names the last commit of dir's work tree that changed a file that the case measures or the
// version of a peer in bench/go.mod, with -dirty if a file has changed after it.
func commit(dir, name string, byTest bool) (string, error) {
	files, peersOf, err := measured(name, byTest)
	if err != nil {
		return "", err
	}
	var errs []error
	git := func(args []string, files ...string) string {
		args = slices.Concat([]string{"-C", dir}, args, []string{"--"}, files)
		out, err := exec.Command("git", args...).Output()
		errs = append(errs, err)
		return strings.TrimSpace(string(out))
	}
	log := []string{"log", "-1", "--format=%h", "--abbrev=12", "--topo-order"}
	last := git(log, files...)
	if len(peersOf) > 0 {
		versions := "-G(" + strings.ReplaceAll(strings.Join(peersOf, "|"), ".", `\.`) + ") v"
		if peer := git(append(log, versions), ":(top)bench/go.mod"); peer != "" {
			last = git(append(log, last, peer)) // the later of the two
		}
	}
	if git([]string{"status", "--porcelain", "--untracked-files=no"}, files...) != "" {
		last += dirty
	}
	return last, errors.Join(errs...)
}

const dirty = "-dirty"

// peers are the modules whose versions the page names.
var peers = []string{
	"github.com/bojand/ghz", "github.com/cloudwego/hertz", "github.com/cloudwego/netpoll",
	"github.com/ebitengine/purego", "github.com/lesismal/nbio", "github.com/panjf2000/gnet/v2", "github.com/rakyll/hey",
	"github.com/tsenart/vegeta/v12", "github.com/valyala/fasthttp", "github.com/xtaci/gaio", "google.golang.org/grpc",
}

// modules returns the versions of peers in go.mod.
func modules() map[string]string {
	versions := map[string]string{}
	cmd := exec.Command("go", append([]string{"list", "-m"}, peers...)...)
	cmd.Dir = filepath.Join(Root(), "bench")
	out, err := cmd.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the versions of the peers are not known:", err)
	}
	for line := range strings.Lines(string(out)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		versions[name] = version
	}
	return versions
}

// thisMachine returns a string of JSON if the machine is not known.
func thisMachine() json.RawMessage {
	cmd := exec.Command("go", "run", "./cmd/evenkeel", "version", "-json")
	cmd.Dir = Root()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var said struct{ Machine json.RawMessage }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		said.Machine, _ = json.Marshal("not known: evenkeel version: " + err.Error())
	}
	return said.Machine
}

// checkSave returns an error if the work tree of dir differs from its commit, so nobody could check
// out what was measured.
func checkSave(dir string) error {
	at := dir
	for _, err := os.Stat(at); err != nil && at != filepath.Dir(at); _, err = os.Stat(at) {
		at = filepath.Dir(at) // save makes dir
	}
	if revision, err := commit(at, "", false); err == nil && strings.HasSuffix(revision, dirty) {
		return fmt.Errorf("no results go to %s, because the work tree differs from its commit (%s); "+
			"commit the changes first, or keep the results elsewhere with -results", dir, revision)
	}
	return nil // or dir is in no work tree
}

// saved says whether dir has the whole case of this machine and commit.
func (s *set) saved(dir string) bool {
	old, err := readSaved(filepath.Join(dir, s.file()))
	return err == nil && old.Complete && old.Versions.Revision == s.Versions.Revision
}

type machineOf struct {
	CPU, Kernel, Go string
	Cores           int
}

// machine returns no names for one that is not known.
func (s *set) machine() (m machineOf) {
	_ = json.Unmarshal(s.Machine, &m)
	return m
}

// A case has one file for each kind of machine.
func (s *set) file() string {
	m := s.machine()
	words := strings.FieldsFunc(strings.ToLower(cmp.Or(m.CPU, "unknown")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return fmt.Sprintf("%s.%s-%d.json.gz", strings.ReplaceAll(s.Benchmark, "/", "-"), strings.Join(words, "-"), m.Cores)
}

func (s *set) save(dir string) error {
	if err := checkSave(dir); err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(s); err != nil {
		return err
	}
	name := filepath.Join(dir, s.file())
	if !s.Complete && s.saved(dir) {
		return fmt.Errorf("%s is kept, because it has all rounds; write others elsewhere with -results", name)
	}
	if err := errors.Join(z.Close(), os.MkdirAll(dir, 0o755), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "results:", name)
	return nil
}

// Judge prints the tables and claims of a file of results.
func (h *Harness) Judge(name string) error {
	s, err := readSaved(name)
	if err != nil {
		return err
	}
	s.out = h.Out
	if c := h.caseOf(s); c != nil {
		res := &Result{Case: c, Runs: s.Raw.Runs, Out: h.Out}
		res.table()
		s.judge(res)
		return nil
	}
	for _, f := range s.Figures { // of a case of a test
		s.add(f)
	}
	return nil
}

func readSaved(name string) (*set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write the name of a file of bench/results that ends in .json.gz", name, err)
	}
	s := &set{name: filepath.Base(name)}
	if err := json.NewDecoder(z).Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// caseOf returns nil if a test has the case.
func (h *Harness) caseOf(s *set) *Case {
	at := slices.IndexFunc(h.Cases, func(c Case) bool { return c.Name == s.Benchmark })
	if at < 0 {
		return nil
	}
	return &h.Cases[at]
}
