//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
)

// guideTimeout bounds one block.
const guideTimeout = 5 * time.Minute

// TestGuides runs each block that is fenced with "sh" of the README, the guides and the examples'
// pages, in a copy of the repository and a network namespace of its own. The blocks of a page run
// in order. Durations and counts are shortened, and make only prints. Words after "sh" say what a
// block needs:
//
//	serves=ADDR    it lasts: it is interrupted when something listens there
//	server=ADDR    a service under load listens there; several with commas
//	by=DIR/TEST    the test that runs it, its folder from the repository's top
//	untested=WHY   it cannot be run here, with hyphens between words
func TestGuides(t *testing.T) {
	testutil.Long(t, "the commands of all guides take minutes")
	if out, err := exec.Command("unshare", "--net", "--map-root-user", "ip", "link", "set", "lo",
		"up").CombinedOutput(); err != nil {
		t.Skipf("needs a network namespace of its own (unshare --net --map-root-user): %v: %s", err, out)
	}
	pages, err := guidePages("..")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]block{}
	for _, page := range pages {
		if blocks[page], err = guideBlocks(filepath.Join("..", page)); err != nil {
			t.Fatal(err)
		}
	}
	work := guideCopy(t)
	for _, page := range pages {
		for _, b := range blocks[page] {
			t.Run(fmt.Sprintf("%s:%d", page, b.line), func(t *testing.T) { b.run(t, work) })
		}
	}
}

// guidePages returns the pages with commands.
func guidePages(top string) (pages []string, err error) {
	for _, pattern := range []string{
		"README.md", "CONTRIBUTING.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md",
		"contrib/*/README.md", "deploy/*/README.md",
	} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			page, err := filepath.Rel(top, f)
			if err != nil {
				return nil, err
			}
			pages = append(pages, page)
		}
	}
	return pages, nil
}

type block struct {
	line     int // of the fence
	needs    map[string]string
	commands string
}

// guideBlocks returns the blocks that are fenced with "sh". A block with no word is an error,
// because it would not be run.
func guideBlocks(page string) (blocks []block, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var open *block
	fenced, info := false, ""
	for i, line := range strings.Split(string(text), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && !fenced:
			fenced, info = true, fence
			words := strings.Fields(fence)
			if len(words) == 0 || words[0] != "sh" {
				continue
			}
			open = &block{line: i + 1, needs: map[string]string{}}
			for _, w := range words[1:] {
				name, value, _ := strings.Cut(w, "=")
				if !slices.Contains([]string{"serves", "server", "by", "untested"}, name) || value == "" {
					return nil, fmt.Errorf("%s:%d: %q after sh: write serves=, server=, by=DIR/TEST or untested=", page,
						i+1, w)
				}
				open.needs[name] = value
			}
		case isFence:
			fenced = false
			if open != nil {
				blocks, open = append(blocks, *open), nil
			}
		case open != nil:
			open.commands += line + "\n"
		case isCommand(line) && (fenced && info == "" || !fenced && strings.HasPrefix(line, "    ")):
			return nil, fmt.Errorf("%s:%d: a command outside of a block fenced with sh, so that no test runs it: %s",
				page, i+1, line)
		}
	}
	return blocks, nil
}

// isCommand reports whether a line begins with a program of which the pages tell.
func isCommand(line string) bool {
	const programs = `(evenkeel|make|go|curl|haproxy|apt-get|GODEBUG=\S+|GOMAXPROCS=\S+) `
	return regexp.MustCompile(`^\s*(\.\.?/|bin/)*` + programs).MatchString(line)
}

// shorter takes the length out of what is measured.
func shorter(commands string) string {
	for _, r := range []struct{ long, short string }{
		{`-z \d+s`, `-z 300ms`},
		{`-n \d+`, `-n 100`},
		{`-repeat \d+`, `-repeat 1`},
		{`seconds=\d+`, `seconds=1`},
		{`-benchtime=\S+`, `-benchtime=1x`},
		{`(?m)^(\s*)make `, `${1}make -n `},
	} {
		commands = regexp.MustCompile(r.long).ReplaceAllString(commands, r.short)
	}
	return commands
}

// script runs the commands of a block: the services first, and what it started last.
// All of it is in the namespace, and ends with it.
const script = `set -euo pipefail
ip link set lo up
listens() { (exec 3<>"/dev/tcp/${1%%:*}/${1##*:}") 2>/dev/null; }
await() { # ADDR PID
  until listens "$1"; do
    kill -0 "$2" || { echo "nothing came to listen on $1"; exit 1; }
    sleep .05
  done
}
for addr in ${SERVER//,/ }; do
  bin/search -addr "$addr" >>server.log 2>&1 &
  await "$addr" $!
  # without it the profiles are empty
  bin/evenkeel load -n 200 -c 4 "http://$addr/search?term=president&cnn=on" >>server.log 2>&1
  bin/evenkeel load -rate 100 -z 10m "http://$addr/search?term=president&cnn=on" >>server.log 2>&1 &
done
if [ -z "$SERVES" ]; then
  bash -euo pipefail -c "$COMMANDS"
  exit
fi
set -m
bash -euo pipefail -c "$COMMANDS
wait" &
await "$SERVES" $!
kill -INT -- -$!
wait $! || echo "interrupted: exit status $?"
`

func (b block) run(t *testing.T, work string) {
	if why := b.needs["untested"]; why != "" {
		t.Skip("cannot be run here: " + strings.ReplaceAll(why, "-", " "))
	}
	if test := b.needs["by"]; test != "" {
		if !testExists(t, test) {
			t.Errorf("by=%s: there is no such test", test)
		}
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), guideTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--map-root-user", "--pid", "--fork", "--kill-child", "bash",
		"-c", script)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(work, "bin")+":"+os.Getenv("PATH")+":/usr/sbin",
		"GOPROXY=off", "GOWORK=off", "PPROF_TMPDIR="+work, "SERVER="+b.needs["server"], "SERVES="+b.needs["serves"],
		"COMMANDS="+shorter(b.commands))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopTimeout
	if out, err := cmd.CombinedOutput(); err != nil {
		server, _ := os.ReadFile(filepath.Join(work, "server.log"))
		t.Errorf("%v\n%s\nprinted\n%s\nthe services printed\n%s", err, b.commands, out, server)
	}
}

// testExists reports whether there is the test DIR/NAME.
func testExists(t *testing.T, test string) bool {
	t.Helper()
	dir, name := filepath.Split(test)
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		text, err := os.ReadFile(f)
		return err == nil && bytes.Contains(text, []byte("\nfunc "+name+"("))
	})
}

// guideCopy copies the repository to a folder of the test's, builds its programs there, and adds
// what the pages take for granted: a server of the reader's, and its files.
func guideCopy(t *testing.T) (work string) {
	t.Helper()
	work = t.TempDir()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", path)
		if err != nil {
			return err
		}
		to := filepath.Join(work, rel)
		switch {
		case rel == ".git" || rel == ".bin" || rel == "bin" || rel == "demo":
			if !d.IsDir() { // .git of a work tree is a file: SkipDir would leave out all that follows it
				return nil
			}
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, info.Mode())
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "build")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	for name, text := range map[string]string{
		"server":         "#!/bin/sh\nexec bin/search -addr 127.0.0.1:8080 \"$@\"\n",
		"deploys.ndjson": `{"t":"2026-11-21T10:00:00Z","source":"deployment","state":"serving"}` + "\n",
		"gate.ndjson":    `{"t":"2026-11-21T10:00:00Z","source":"replica 1","state":"serving"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

// TestGuideBlocks holds what TestGuides takes for commands, and what it refuses.
func TestGuideBlocks(t *testing.T) {
	for _, tt := range []struct{ page, want string }{
		{"```sh serves=127.0.0.1:1\nmake demo\n```\n", "map[serves:127.0.0.1:1] make -n demo\n"},
		{"text\n```sh\nevenkeel load -z 30s -n 5000 x\n```\n", "map[] evenkeel load -z 300ms -n 100 x\n"},
		{"```\nmake demo\n```\n", `:2: a command outside of a block fenced with sh`},
		{"    ./evenkeel load x\n", `:1: a command outside of a block fenced with sh`},
		{"```go\nmake demo\n```\nA make demo in text.\n", ""},
		{"```sh server\nx\n```\n", `:1: "server" after sh: write serves=`},
	} {
		page := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(page, []byte(tt.page), 0o600); err != nil {
			t.Fatal(err)
		}
		blocks, err := guideBlocks(page)
		got := ""
		for _, b := range blocks {
			got += fmt.Sprint(b.needs, " ", shorter(b.commands))
		}
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want)) {
			t.Errorf("%q: %q, want %q", tt.page, got, tt.want)
		}
	}
}
