package main

import (
	"bytes"
	"fmt"
	"os/exec"

	"evenkeel.dev/tools/internal/skips"
)

// addSkips adds what a package's tests have skipped to a list: output is that of -test.v=test2json.
func addSkips(list *skips.List, p *testPackage, output []byte) error {
	cmd := exec.Command("go", "tool", "test2json", "-p", p.path)
	cmd.Stdin = bytes.NewReader(output)
	events, err := cmd.Output()
	if err == nil {
		err = list.Read(bytes.NewReader(events))
	}
	if err != nil {
		return fmt.Errorf("what %s skips cannot be read from its output: %w", p.path, err)
	}
	return nil
}
