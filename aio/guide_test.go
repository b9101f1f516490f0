package aio_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// guideProgram is what the guide leaves to its reader.
const guideProgram = `package main

import (
	"fmt"

	"evenkeel.dev/aio"
)

func main() {
	address := "127.0.0.1:0"
	NEW
	if err != nil {
		panic(err)
	}
	LISTEN
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	FIRST
	panic(serve(w, l))
}

func serve(w *aio.Watcher, l *aio.Listener) error {
	LOOP
}
`

// TestGuideServer runs the server that the guide shows.
func TestGuideServer(t *testing.T) {
	testutil.Slow(t, "builds the service of a guide")
	guide, err := os.ReadFile("../docs/aio.md")
	must(t, err)
	program := guideProgram
	for part, shown := range map[string]string{
		"NEW": "`(w, err := .*?)`", "LISTEN": "`(l, err := .*?)`",
		"FIRST": "`(l\\.AcceptMultishot.*?)`", "LOOP": "(?s)```go\n(for \\{.*?WaitIO.*?)```",
	} {
		found := regexp.MustCompile(shown).FindSubmatch(guide)
		if found == nil {
			t.Fatalf("docs/aio.md does not show the server's %s", part)
		}
		program = strings.Replace(program, part, string(found[1]), 1)
	}
	dir := t.TempDir()
	main, server := filepath.Join(dir, "main.go"), filepath.Join(dir, "server")
	must(t, os.WriteFile(main, []byte(program), 0o644))
	if out, err := exec.Command("go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", server,
		main).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(server)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	addr, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	for range 3 {
		c, err := net.Dial("tcp", strings.TrimSpace(addr))
		must(t, err)
		defer c.Close()
		answered(t, c, "as the guide says")
	}
}
