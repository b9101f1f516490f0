//go:build !unix

package cc

import (
	"os/exec"
	"time"
)

// killGroup bounds the wait for the children of cmd, which its context does not kill here.
func killGroup(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
