// Package tools has tests of the scripts in .ci; its folders have the programs that those run.
package tools

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// aMachine is where .ci/setup finds nothing but stubs: an apt-get that says when it began and waits to be told to end,
// root as the user, and a systemctl that must not be called.
type aMachine struct {
	dir, policy string
	cmd         *exec.Cmd
	begun, end  *os.File
}

func newMachine(t *testing.T) *aMachine {
	t.Helper()
	dir := t.TempDir()
	m := &aMachine{dir: dir, policy: filepath.Join(dir, "policy-rc.d")}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"id":        "echo 0",
		"systemctl": "echo systemctl $* >>" + dir + "/called",
		"apt-get":   `case $1 in update) ;; *) [ -x "$POLICY_RC_D" ] && "$POLICY_RC_D"; echo "$? $*" >` + dir + "/begun; read x <" + dir + "/end ;; esac",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "bash", "uname", "cat", "rm", "chmod", "sleep", "setsid", "dirname", "env"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("needs %s", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.begun, m.end = fifo(t, filepath.Join(dir, "begun")), fifo(t, filepath.Join(dir, "end"))
	script, err := os.ReadFile("../.ci/setup")
	if err != nil {
		t.Fatal(err)
	}
	// The machine's own servers must not be found.
	text := strings.Replace(string(script), "PATH=$PATH:/usr/sbin", "PATH=$PATH", 1)
	if err := os.WriteFile(filepath.Join(dir, "pypi"), []byte("#!/bin/sh\necho done >"+dir+"/pypi-ran\n"), 0o755); err != nil {
		t.Fatal(err) // .ci/pypi has a test of its own
	}
	setup := filepath.Join(dir, "setup")
	if err := os.WriteFile(setup, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	m.cmd = exec.Command(filepath.Join(bin, "bash"), setup)
	m.cmd.Env = []string{"PATH=" + bin, "POLICY_RC_D=" + m.policy}
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.cmd.Wait() })
	return m
}

// fifo makes a named pipe and opens it for both sides, so that no end of it waits for the other.
func fifo(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// installs waits until apt-get installs, and returns what it was told and what the policy answered.
func (m *aMachine) installs(t *testing.T) string {
	t.Helper()
	b := make([]byte, 1<<10)
	m.begun.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := m.begun.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// goOn lets the apt-get that waits end.
func (m *aMachine) goOn(t *testing.T) {
	t.Helper()
	if _, err := m.end.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
}

// gone waits until the policy is away.
func (m *aMachine) gone(t *testing.T) {
	t.Helper()
	for range 600 {
		if _, err := os.Stat(m.policy); errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("policy-rc.d stands a minute after the installation ended")
}

func (m *aMachine) called(t *testing.T) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(m.dir, "called")); err == nil {
		t.Errorf("the set-up called %s", b)
	}
}

func TestSetup(t *testing.T) {
	m := newMachine(t)
	if got := m.installs(t); !strings.HasPrefix(got, "101 ") || !strings.Contains(got, "haproxy") {
		t.Errorf("while servers are installed the policy and apt-get were %q, want 101 and haproxy", got)
	}
	m.goOn(t)
	m.installs(t) // what is only wanted
	m.goOn(t)
	if err := m.cmd.Wait(); err != nil {
		t.Error(err)
	}
	m.gone(t)
	m.called(t)
	if _, err := os.Stat(filepath.Join(m.dir, "pypi-ran")); err != nil {
		t.Errorf("the set-up has left out .ci/pypi: %v", err)
	}
}

// TestSetupKilled kills the script alone and with its group: apt-get must go on with the policy in place, and the
// policy must go with apt-get.
func TestSetupKilled(t *testing.T) {
	t.Run("script", func(t *testing.T) {
		m := newMachine(t)
		m.installs(t)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		m.cmd.Wait()
		if _, err := os.Stat(m.policy); err != nil {
			t.Errorf("apt-get still runs, and %v", err)
		}
		m.goOn(t)
		m.gone(t)
		m.called(t)
	})
	t.Run("group", func(t *testing.T) {
		m := newMachine(t)
		m.installs(t)
		if err := syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		m.gone(t)
		m.called(t)
	})
}

// TestSetupKeepsPolicy has a policy of the machine's owner.
func TestSetupKeepsPolicy(t *testing.T) {
	m := newMachine(t)
	// The script waits in apt-get by now, with its own policy: put the owner's before another run.
	m.installs(t)
	m.goOn(t)
	m.installs(t)
	m.goOn(t)
	m.cmd.Wait()
	m.gone(t)
	const owners = "#!/bin/sh\nexit 0\n"
	if err := os.WriteFile(m.policy, []byte(owners), 0o755); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(m.cmd.Path, m.cmd.Args[1:]...)
	again.Env = m.cmd.Env
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	if got := m.installs(t); !strings.HasPrefix(got, "0 ") {
		t.Errorf("the owner's policy was not in place: %q", got)
	}
	m.goOn(t)
	m.installs(t)
	m.goOn(t)
	if err := again.Wait(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(m.policy); err != nil || string(b) != owners {
		t.Errorf("the owner's policy became %q, %v", b, err)
	}
}
