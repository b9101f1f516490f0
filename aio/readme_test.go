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
)

// readmeProgram is what the README leaves to its reader.
const readmeProgram = `package main

import (
	"fmt"
	"net"

	"evenkeel.dev/aio"
)

func main() {
	w, err := aio.New(aio.Options{})
	if err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				panic(err)
			}
			c, err := w.Attach(conn)
			if err != nil {
				panic(err)
			}
			FIRST
		}
	}()
	panic(serve(w))
}

func serve(w *aio.Watcher) error {
	LOOP
}
`

// TestReadmeServer runs the server that the README shows.
func TestReadmeServer(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	must(t, err)
	first := regexp.MustCompile("`(c\\.Read\\(.*\\))`").FindSubmatch(readme)
	loop := regexp.MustCompile("(?s)```go\n(for \\{.*?WaitIO.*?)```").FindSubmatch(readme)
	if first == nil || loop == nil {
		t.Fatal("README.md shows no server")
	}
	dir := t.TempDir()
	main, server := filepath.Join(dir, "main.go"), filepath.Join(dir, "server")
	program := strings.NewReplacer("FIRST", string(first[1]), "LOOP", string(loop[1])).Replace(readmeProgram)
	must(t, os.WriteFile(main, []byte(program), 0o644))
	if out, err := exec.Command("go", "build", "-o", server, main).CombinedOutput(); err != nil {
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
		answered(t, c, "as the README says")
	}
}
