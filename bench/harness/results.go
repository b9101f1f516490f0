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
	"runtime/debug"
	"strings"
	"time"
)

// set is the file of a case's results.
type set struct {
	Benchmark string         `json:"benchmark"`
	Started   time.Time      `json:"started"`
	Machine   any            `json:"machine"`
	Versions  map[string]any `json:"versions"`
	Figures   []figure       `json:"figures"`
	Raw       map[string]any `json:"raw"`

	out io.Writer
}

func newSet(name string, started time.Time, out io.Writer) *set {
	return &set{
		Benchmark: name, Started: started, Machine: Machine(), Raw: map[string]any{}, out: out,
		Versions: map[string]any{"go": runtime.Version(), "revision": revision(), "modules": modules()},
	}
}

// revision names the measured commit, with -dirty if the work tree differs from it.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "not known: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// modules returns the versions of the modules in this program, with those of peers.
func modules() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
		}
	}
	return versions
}

// Machine returns the machine as evenkeel writes it to run.json. It asks the command, because this
// module cannot import what is internal to the root module.
func Machine() any {
	cmd := exec.Command("go", "run", "./cmd/evenkeel", "version", "-json")
	cmd.Dir = Root()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var said struct{ Machine json.RawMessage }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		return "not known: evenkeel version: " + err.Error()
	}
	return said.Machine
}

// checkSave returns an error if the work tree of dir differs from its commit, so that nobody else
// could check out what was measured.
func checkSave(dir string) error {
	for at := dir; at != ""; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err != nil && at != filepath.Dir(at) {
			continue // save makes it
		}
		out, err := exec.Command("git", "-C", at, "describe", "--always", "--dirty", "--abbrev=12").Output()
		if err != nil || !strings.Contains(string(out), "-dirty") {
			return nil // dir is in no work tree, or nothing has changed there
		}
		return fmt.Errorf("no results go to %s, because the work tree differs from its commit (%s); "+
			"commit the changes first, or keep the results elsewhere with -results", dir,
			strings.TrimSpace(string(out)))
	}
	return nil
}

// file returns the name of the results. A case has one file for each kind of machine.
func (s *set) file() string {
	var m struct {
		CPU   string `json:"cpu"`
		Cores int    `json:"cores"`
	}
	if text, ok := s.Machine.(json.RawMessage); ok {
		_ = json.Unmarshal(text, &m) // a machine that is not known has no name
	}
	words := strings.FieldsFunc(strings.ToLower(cmp.Or(m.CPU, "unknown")), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return fmt.Sprintf("%s.%s-%d.json.gz", strings.ReplaceAll(s.Benchmark, "/", "-"), strings.Join(words, "-"), m.Cores)
}

func (s *set) save(dir string) error {
	if err := checkSave(dir); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(append(text, '\n')); err != nil {
		return err
	}
	name := filepath.Join(dir, s.file())
	if err := errors.Join(z.Close(), os.MkdirAll(dir, 0o755), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "results:", name)
	return nil
}

// Judge prints the tables and claims of a file of results.
func (h *Harness) Judge(name string) error {
	saved, err := readSaved(name)
	if err != nil {
		return err
	}
	s := &set{out: h.Out}
	if c := h.caseOf(saved); c != nil {
		res := &Result{Case: c, Runs: saved.Raw.Runs, Out: &Output{h.Out}}
		res.table()
		s.judge(res)
		return nil
	}
	for _, f := range saved.Figures { // of a case of a test
		s.add(f)
	}
	return nil
}
