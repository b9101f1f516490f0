package cc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Toolchain is the C compiler with the package's flags, as the go command would run it.
type Toolchain struct {
	Shell
	CC     []string
	flags  []string
	count  int  // of objects
	Silent bool // -w is among the package's flags
}

type goEnv struct {
	CC        string
	PkgConfig string `json:"PKG_CONFIG"`
	CFlags    string `json:"CGO_CFLAGS"`
	CPPFlags  string `json:"CGO_CPPFLAGS"`
	flagRules
}

// NewToolchain finds the compiler and the flags of a package.
func NewToolchain(ctx context.Context, pkg *Package) (*Toolchain, error) {
	out, err := pkg.Run(ctx, "", "go", "env", "-json", "CC", "PKG_CONFIG", "CGO_CFLAGS", "CGO_CPPFLAGS",
		"CGO_CFLAGS_ALLOW", "CGO_CFLAGS_DISALLOW", "CGO_CPPFLAGS_ALLOW", "CGO_CPPFLAGS_DISALLOW")
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env goEnv
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	tc := &Toolchain{Shell: pkg.Shell, CC: words(env.CC)}
	if len(tc.CC) == 0 {
		return nil, errors.New("go env CC is empty: set CC to a C compiler")
	}
	if _, err := exec.LookPath(tc.CC[0]); err != nil {
		return nil, fmt.Errorf("no C compiler: %s, which go env CC names, is not there; "+
			"install it (Debian: gcc and libc6-dev; macOS: xcode-select --install) or set CC", tc.CC[0])
	}
	fromConfig, err := pkgConfig(ctx, cmp.Or(env.PkgConfig, "pkg-config"), pkg)
	if err != nil {
		return nil, err
	}
	tc.flags = slices.Concat(words(env.CPPFlags), words(env.CFlags), fromConfig, pkg.cppFlags, pkg.cFlags)
	ofConfig := "pkg-config: " + strings.Join(pkg.pkgConfig, " ")
	for _, c := range []struct {
		line, variable, allow, disallow string
		flags                           []string
	}{
		{ofConfig, "CGO_CFLAGS", env.CFlagsAllow, env.CFlagsDisallow, fromConfig},
		{"CPPFLAGS", "CGO_CPPFLAGS", env.CPPFlagsAllow, env.CPPFlagsDisallow, pkg.cppFlags},
		{"CFLAGS", "CGO_CFLAGS", env.CFlagsAllow, env.CFlagsDisallow, pkg.cFlags},
	} {
		if err := checkFlags(c.line, c.variable, c.allow, c.disallow, c.flags); err != nil {
			return nil, err
		}
	}
	tc.Silent = slices.Contains(tc.flags, "-w")
	// The errors of a trial would obey -w.
	tc.flags = slices.DeleteFunc(tc.flags, func(f string) bool { return f == "-w" })
	return tc, nil
}

func pkgConfig(ctx context.Context, program string, pkg *Package) ([]string, error) {
	if len(pkg.pkgConfig) == 0 {
		return nil, nil
	}
	asked := strings.Join(pkg.pkgConfig, " ")
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("no %s, which #cgo pkg-config: %s needs: install it (Debian: pkg-config; macOS: brew "+
			"install pkgconf) or set PKG_CONFIG",
			program, asked)
	}
	out, err := pkg.Run(ctx, "", append([]string{program, "--cflags"}, pkg.pkgConfig...)...)
	if err != nil {
		return nil, fmt.Errorf("#cgo pkg-config: %s: install the library's development package\n%w", asked, err)
	}
	return words(out), nil
}

// Compile compiles C source into an object file and returns its name. The package's warnings
// are the go command's to show; link-time optimisation would leave nothing to look into.
func (tc *Toolchain) Compile(ctx context.Context, source string, extra ...string) (string, error) {
	return tc.Object(ctx, source, append([]string{"-w"}, append(extra, "-x", "c", "-")...)...)
}

// Strictly compiles C source that turns some warnings into errors itself. Some of them take -O2.
func (tc *Toolchain) Strictly(ctx context.Context, source string) (string, error) {
	return tc.Object(ctx, source, "-Wno-error", "-O2", "-x", "c", "-")
}

// Object compiles C into an object file and returns its name: stdin, where args say so, with the
// package's flags before args.
func (tc *Toolchain) Object(ctx context.Context, stdin string, args ...string) (string, error) {
	tc.count++
	out := filepath.Join(tc.Temp, "o"+strconv.Itoa(tc.count))
	own := []string{"-c", "-fno-lto", "-fdiagnostics-color=never", "-o", out}
	_, err := tc.Run(ctx, stdin, slices.Concat(tc.CC, []string{"-I."}, tc.flags, own, args)...)
	return out, err
}

// Assembly compiles C source into assembly, with each call to be seen. The package's warnings are
// the go command's to show.
func (tc *Toolchain) Assembly(ctx context.Context, stdin string, args ...string) (string, error) {
	own := []string{"-S", "-w", "-O0", "-g0", "-fno-jump-tables", "-fno-inline"}
	out, err := tc.Object(ctx, stdin, append(own, args...)...)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(out)
	return string(text), err
}

// Complaint is an error message of the C compiler.
type Complaint struct {
	File string
	Line int
	Text string
}

var complaintLine = regexp.MustCompile(`(?m)^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$`)

// Complaints takes the messages out of what the C compiler said.
func Complaints(err error) []Complaint {
	var list []Complaint
	for _, m := range complaintLine.FindAllStringSubmatch(err.Error(), -1) {
		n := 0
		fmt.Sscan(m[2], &n)
		list = append(list, Complaint{m[1], n, m[3]})
	}
	return list
}
