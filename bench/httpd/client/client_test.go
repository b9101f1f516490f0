//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestGone: a server that has ended is said as such, and what was measured of it is no error.
func TestGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, gone, err := (&client{pid: cmd.Process.Pid}).used(0); !gone || err != nil {
		t.Errorf("ended: gone %v, %v", gone, err)
	}
	if _, gone, err := (&client{pid: os.Getpid()}).used(0); gone || err != nil {
		t.Errorf("this process: gone %v, %v", gone, err)
	}
}
