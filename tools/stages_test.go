package tools

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stagesIn puts scripts of .ci into a folder of their own, beside others in place of those that they call.
func stagesIn(t *testing.T, copied []string, others map[string]string) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	dir = t.TempDir()
	for _, sub := range []string{".ci", ".bin", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range copied {
		text, err := os.ReadFile("../.ci/" + name)
		if err != nil {
			t.Fatal(err)
		}
		put(".ci/"+name, string(text))
	}
	for name, text := range others {
		put(name, "#!/usr/bin/env bash\n"+text)
	}
	return dir
}

func script(dir, name string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(dir, name))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// TestStagesInterrupted has the first of two stages, of CI's two commands or of a command's two modules take an interrupt
// for its own and fail, as go test does: the second must not begin, and what ran beside the set-up ends.
func TestStagesInterrupted(t *testing.T) {
	const takesIt = "trap 'exit 2' INT; echo >begun; sleep 1000 & wait\n"
	for _, tt := range []struct {
		name   string
		copied []string
		others map[string]string
	}{
		{"stages", []string{"stages"}, map[string]string{
			".ci/setup": "", ".bin/skips": "", "first": takesIt,
			"main": "set -eu; . .ci/stages; set_up set-up .ci/setup; stage first ./first; stage second touch second; finish\n",
		}},
		{"beside the set-up", []string{"stages"}, map[string]string{
			".ci/setup": "echo $BESIDE >beside\n" + takesIt, ".bin/skips": "",
			"main": "set -eu; . .ci/stages; both() { sleep 1000 & BESIDE=$! .ci/setup || return; }; set_up both both; touch second; finish\n",
		}},
		{"run", []string{"run"}, map[string]string{
			"make": "case $1 in test) " + takesIt + ";; *) touch second ;; esac\n", "main": "exec .ci/run\n",
		}},
		{"modules", []string{"modules"}, map[string]string{
			"each": "[ ! -e first ] || exec touch second; touch first\n" + takesIt, "main": "MODULES='. .' exec .ci/modules ./each\n",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stagesIn(t, tt.copied, tt.others) // before anything is started: a child could have a script open for writing
			t.Parallel()
			begun := fifo(t, filepath.Join(dir, "begun"))
			cmd := script(dir, "main")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // the sleep of the first
			_ = begun.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := begun.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			stuck := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			err := cmd.Wait()
			stuck.Stop()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Errorf("it ended with %v, want exit status 130", err)
			}
			if beside, err := os.ReadFile(filepath.Join(dir, "beside")); err == nil {
				pid, err := strconv.Atoi(strings.TrimSpace(string(beside)))
				if err != nil {
					t.Fatal(err)
				}
				gone(t, pid)
			}
			if _, err := os.Stat(filepath.Join(dir, "second")); err == nil {
				t.Error("the second began")
			}
			if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestStages has a set-up that fails, a stage that fails, and no program that lists what was skipped: each is said, and
// fails all.
func TestStages(t *testing.T) {
	const list = "echo 'skipped: none'\n"
	for _, tt := range []struct {
		name, setup, skips, stage string
		want                      []string // words of the output; an exit status of 0 where "ok:" is one
	}{
		{"all is well", "", list, "true", []string{"== set-up", "== one", "skipped: none", "ok      one", "ok: all stages"}},
		{"a stage", "", list, "false", []string{"skipped: none", "FAILED  one", "FAILED: one"}},
		{"set-up", "exit 1", list, "true", []string{"FAILED: set-up"}},
		{"no list", "", "exit 1", "true", []string{"ok      one", "FAILED: the list of what was skipped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stagesIn(t, []string{"stages"}, map[string]string{
				".ci/setup": tt.setup, ".bin/skips": tt.skips,
				"main": fmt.Sprintf("set -eu; . .ci/stages; set_up set-up .ci/setup; stage one %s; finish\n", tt.stage),
			})
			t.Parallel()
			out, err := script(dir, "main").CombinedOutput()
			if wants := strings.HasPrefix(tt.want[len(tt.want)-1], "ok:"); (err == nil) != wants {
				t.Errorf("%v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
