//go:build linux && (amd64 || arm64 || ppc64le)

package fastc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// shortWay and longWay match what Source says on an architecture.
func shortWay(arch string) string {
	file := "asm_" + strings.Replace(arch, "ppc64le", "ppc64x", 1)
	return `runtime\.asmcgocall, \d+ functions before runtime\.goexit in ` + file + `\.s \(.+ linux/` + arch + `\)`
}

func longWay(why string) string {
	return `runtime\.cgocall: ` + regexp.QuoteMeta(why) + ` \((.+ )?linux/` + runtime.GOARCH + `\)`
}

// mode is a way to build a program, and what Source says in it.
type mode struct {
	name   string
	flags  []string // of go build
	env    []string // of go build
	source string   // "": the short way
}

var modes = []mode{
	{name: "nofastc", flags: []string{"-tags=nofastc"}, source: longWay("built with the tag nofastc")},
	{
		name: "CGO_ENABLED=0", env: []string{"CGO_ENABLED=0"},
		source: longWay("built without cgo: there is no C to call"),
	},
	{name: "-buildmode=pie", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=internal"}},
	{name: "-buildmode=pie, external", flags: []string{"-buildmode=pie", "-ldflags=-linkmode=external"}},
	{name: "-linkmode=external", flags: []string{"-ldflags=-linkmode=external"}},
	{name: "static", flags: []string{"-ldflags=-linkmode=external -extldflags=-static"}},
	{name: "-trimpath", flags: []string{"-trimpath"}},
	{name: "-race", flags: []string{"-race"}},
	{name: "-N -l", flags: []string{"-gcflags=all=-N -l"}},
	{name: "-s -w", flags: []string{"-ldflags=-s -w"}},
	{name: "-cover", flags: []string{"-cover"}},
}

// TestModes builds a program that calls C as this test is built, and runs it in each way that its
// environment may ask for; so it runs this package's other tests, too.
func TestModes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this test runs the others with it, and needs Go's tools")
	}
	needTools(t, "go", "gcc")
	readTestdata(t)
	bin := mode{flags: []string{testutil.RaceFlag}}.build(t, filepath.Join(t.TempDir(), "plain"), "./testdata/plain")
	for env, source := range map[string]string{
		"": shortWay(runtime.GOARCH), "on": shortWay(runtime.GOARCH),
		"off": longWay("FASTC=off"), "bogus": longWay("FASTC=bogus is neither on nor off"),
	} {
		t.Run("FASTC="+env, func(t *testing.T) { wantReport(t, source, []string{"FASTC=" + env}, bin) })
	}
	t.Run("callback", testCallback)
	t.Run("own tests, FASTC=off", func(t *testing.T) {
		needCheck(t)
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		command(t, []string{"FASTC=off"}, exe, "-test.short")
	})
}

// TestBuilds does so in each other way to build that Go knows: most compile the standard library
// again.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs minutes and Go's tools")
	}
	needCheck(t)
	needTools(t, "go", "gcc")
	readTestdata(t)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if m.source == "" {
				m.source = shortWay(runtime.GOARCH)
			}
			wantReport(t, m.source, []string{"GOCOVERDIR=" + dir},
				m.build(t, filepath.Join(dir, "plain"), "./testdata/plain"))
		})
	}
	for name, test := range map[string]func(t *testing.T, dir string){
		"strip": testStrip, "-asan": testASan, "c-shared": testCShared, "c-archive": testCArchive,
		"plugin": testPlugin, "own tests": testOwn,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, t.TempDir())
		})
	}
}

// build builds a package of testdata and returns the path that it wrote to.
func (m mode) build(t *testing.T, to, pkg string) string {
	t.Helper()
	env := append([]string{"CGO_ENABLED=1"}, m.env...)
	command(t, env, "go", append(append([]string{"build", "-o", to}, m.flags...), pkg)...)
	return to
}

func testStrip(t *testing.T, dir string) {
	needTools(t, "strip")
	bin := mode{}.build(t, filepath.Join(dir, "plain"), "./testdata/plain")
	command(t, nil, "strip", bin)
	wantReport(t, shortWay(runtime.GOARCH), nil, bin)
}

// testASan skips where gcc has no library for it.
func testASan(t *testing.T, dir string) {
	library := command(t, nil, "gcc", "-print-file-name=libasan.so")
	if !filepath.IsAbs(library) {
		t.Skip("needs libasan: install libgcc-dev of your gcc's version")
	}
	bin := mode{flags: []string{"-asan"}}.build(t, filepath.Join(dir, "plain"), "./testdata/plain")
	wantReport(t, shortWay(runtime.GOARCH), nil, bin)
}

func testCShared(t *testing.T, dir string) {
	mode{flags: []string{"-buildmode=c-shared"}}.build(t, filepath.Join(dir, "libexported.so"), "./testdata/exported")
	bin := filepath.Join(dir, "main")
	command(t, nil, "gcc", "-o", bin, "testdata/exported/c/main.c", "-L"+dir, "-lexported", "-Wl,-rpath,"+dir,
		"-pthread")
	wantReport(t, shortWay(runtime.GOARCH), nil, bin)
	wantReport(t, longWay("FASTC=off"), []string{"FASTC=off"}, bin)
}

func testCArchive(t *testing.T, dir string) {
	library := mode{flags: []string{"-buildmode=c-archive"}}.build(t, filepath.Join(dir, "libexported.a"),
		"./testdata/exported")
	bin := filepath.Join(dir, "main")
	command(t, nil, "gcc", "-o", bin, "testdata/exported/c/main.c", library, "-pthread")
	wantReport(t, shortWay(runtime.GOARCH), nil, bin)
}

func testPlugin(t *testing.T, dir string) {
	library := mode{flags: []string{"-buildmode=plugin"}}.build(t, filepath.Join(dir, "plugin.so"), "./testdata/plugin")
	bin := mode{}.build(t, filepath.Join(dir, "host"), "./testdata/host")
	wantReport(t, shortWay(runtime.GOARCH), nil, bin, library)
}

// testOwn runs this package's other tests where they are built with one way.
func testOwn(t *testing.T, dir string) {
	for name, m := range map[string]mode{
		"nofastc": {flags: []string{"-tags=nofastc"}}, "nocgo": {env: []string{"CGO_ENABLED=0"}},
	} {
		exe := filepath.Join(dir, name)
		command(t, append([]string{"CGO_ENABLED=1"}, m.env...), "go", append([]string{"test", "-c", "-o", exe},
			m.flags...)...)
		command(t, nil, exe, "-test.short")
	}
}

// testCallback breaks the rule that a leaf does not call Go: the program ends, it does not go on
// with a wrong stack.
func testCallback(t *testing.T) {
	out := filepath.Join(t.TempDir(), "callback")
	bin := mode{flags: []string{testutil.RaceFlag}}.build(t, out, "./testdata/callback")
	wantCrash(t, `(?m)^fatal error: .*`, "main.callsGoFromLeaf", os.Environ(), bin)
	wantCrash(t, `(?m)^panic: fastc: .* called back into Go`, "main.callsGoFromLeaf", append(os.Environ(), "FASTC=off"),
		bin)
}

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
