//go:build linux && (amd64 || arm64 || ppc64le)

package fastc_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// crosses are the other architectures that Linux's emulator runs here.
var crosses = []struct{ arch, cc, emulator, libs, libc string }{
	{"arm64", "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu", "libc6-dev-arm64-cross"},
	{"ppc64le", "powerpc64le-linux-gnu-gcc", "qemu-ppc64le", "/usr/powerpc64le-linux-gnu", "libc6-dev-ppc64el-cross"},
}

// TestCross runs the matrix's program and this package's own tests on other architectures.
func TestCross(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs minutes and Go's tools")
	}
	needCheck(t)
	needTools(t, "go")
	readTestdata(t)
	for _, c := range crosses {
		t.Run(c.arch, func(t *testing.T) {
			t.Parallel()
			if c.arch == runtime.GOARCH {
				t.Skip("needs another architecture: this is " + c.arch)
			}
			needTools(t, c.cc, c.emulator)
			if _, err := os.Stat(filepath.Join(c.libs, "include", "stdio.h")); err != nil {
				t.Skip("needs its C library: install ", c.libc)
			}
			dir := t.TempDir()
			m := mode{env: []string{"GOARCH=" + c.arch, "CC=" + c.cc}}
			bin := m.build(t, filepath.Join(dir, "plain"), "./testdata/plain")
			wantReport(t, shortWay(c.arch), nil, c.emulator, "-L", c.libs, bin)

			tests := filepath.Join(dir, "fastc.test")
			command(t, append(m.env, "CGO_ENABLED=1"), "go", "test", "-c", "-o", tests, ".")
			emulator := c.emulator + " -L " + c.libs
			for _, fastc := range []string{"on", "off"} {
				env := []string{"FASTC=" + fastc, "EVENKEEL_EMULATOR=" + emulator}
				command(t, env, c.emulator, "-L", c.libs, tests, "-test.short", "-test.shuffle=on", "-test.timeout=4m")
			}
		})
	}
}
