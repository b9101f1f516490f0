package cc

import (
	"bytes"
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

// Toolchain is the C compiler with the package's flags, as the go command runs it.
type Toolchain struct {
	Shell
	CC    []string
	flags []string
	count int
}

// NewToolchain finds the compiler and the flags of a package.
func NewToolchain(ctx context.Context, pkg *Package) (*Toolchain, error) {
	out, err := pkg.Run(ctx, "", "go", "env", "-json", "CC", "PKG_CONFIG", "CGO_CFLAGS", "CGO_CPPFLAGS",
		"CGO_CFLAGS_ALLOW", "CGO_CFLAGS_DISALLOW", "CGO_CPPFLAGS_ALLOW", "CGO_CPPFLAGS_DISALLOW")
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var env map[string]string
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	tc := &Toolchain{Shell: pkg.Shell, CC: words(env["CC"])}
	if len(tc.CC) == 0 {
		return nil, errors.New("go env CC is empty: set CC to a C compiler")
	}
	if _, err := exec.LookPath(tc.CC[0]); err != nil {
		return nil, fmt.Errorf("no C compiler: %s, which go env CC names, is not there; "+
			"install it (Debian: gcc and libc6-dev; macOS: xcode-select --install) or set CC", tc.CC[0])
	}
	fromConfig, err := pkgConfig(ctx, cmp.Or(env["PKG_CONFIG"], "pkg-config"), pkg)
	if err != nil {
		return nil, err
	}
	tc.flags = slices.Concat(words(env["CGO_CPPFLAGS"]), words(env["CGO_CFLAGS"]), fromConfig,
		pkg.Build.CgoCPPFLAGS, pkg.Build.CgoCFLAGS)
	for _, c := range []struct {
		line, variable string
		flags          []string
	}{
		{"pkg-config: " + strings.Join(pkg.Build.CgoPkgConfig, " "), "CGO_CFLAGS", fromConfig},
		{"CPPFLAGS", "CGO_CPPFLAGS", pkg.Build.CgoCPPFLAGS},
		{"CFLAGS", "CGO_CFLAGS", pkg.Build.CgoCFLAGS},
	} {
		allow, disallow := env[c.variable+"_ALLOW"], env[c.variable+"_DISALLOW"]
		if err := checkFlags(c.line, c.variable, allow, disallow, c.flags); err != nil {
			return nil, err
		}
	}
	// -w would silence the errors of a trial
	tc.flags = slices.DeleteFunc(tc.flags, func(f string) bool { return f == "-w" })
	return tc, nil
}

func pkgConfig(ctx context.Context, program string, pkg *Package) ([]string, error) {
	if len(pkg.Build.CgoPkgConfig) == 0 {
		return nil, nil
	}
	asked := strings.Join(pkg.Build.CgoPkgConfig, " ")
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("no %s, which #cgo pkg-config: %s needs: install it (Debian: pkg-config; macOS: brew "+
			"install pkgconf) or set PKG_CONFIG",
			program, asked)
	}
	out, err := pkg.Run(ctx, "", append([]string{program, "--cflags"}, pkg.Build.CgoPkgConfig...)...)
	if err != nil {
		return nil, fmt.Errorf("#cgo pkg-config: %s: install the library's development package\n%w", asked, err)
	}
	return words(out), nil
}

// Compile compiles C source into an object file without warnings.
func (tc *Toolchain) Compile(ctx context.Context, source string, extra ...string) (string, error) {
	return tc.Object(ctx, source, append([]string{"-w"}, append(extra, "-x", "c", "-")...)...)
}

// Strictly compiles C source that turns some warnings into errors. Some of them need -O2.
func (tc *Toolchain) Strictly(ctx context.Context, source string) (string, error) {
	return tc.Object(ctx, source, "-Wno-error", "-O2", "-x", "c", "-")
}

// Object compiles C with the package's flags and args into an object file, and returns its name. It
// turns link-time optimisation off, which would leave nothing to look into.
func (tc *Toolchain) Object(ctx context.Context, stdin string, args ...string) (string, error) {
	tc.count++
	out := filepath.Join(tc.Temp, "o"+strconv.Itoa(tc.count))
	own := []string{"-c", "-fno-lto", "-fdiagnostics-color=never", "-o", out}
	_, err := tc.Run(ctx, stdin, slices.Concat(tc.CC, []string{"-I."}, tc.flags, own, args)...)
	return out, err
}

// Assembly compiles C into assembly that shows each call.
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

func Complaints(err error) []Complaint {
	var list []Complaint
	for _, m := range complaintLine.FindAllStringSubmatch(err.Error(), -1) {
		n := 0
		fmt.Sscan(m[2], &n)
		list = append(list, Complaint{m[1], n, m[3]})
	}
	return list
}

// Shell runs programs with one folder for their temporary files.
type Shell struct {
	Dir  string
	Temp string
}

// Run returns the standard output of a program. Its error has what the program wrote. When ctx
// ends, Run also kills the program's children, because a C compiler runs others.
func (sh Shell) Run(ctx context.Context, stdin string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = sh.Dir, append(os.Environ(), "LC_ALL=C", "TMPDIR="+sh.Temp)
	killGroup(cmd)
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return "", errors.New(text)
		}
		return "", fmt.Errorf("%s: %w", command[0], err)
	}
	return out.String(), nil
}

// FirstLine returns s up to a line break.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

var (
	word    = regexp.MustCompile(`('[^']*'|"[^"]*"|\\(?s:.)|[^\s'"\\])+`)
	quoting = regexp.MustCompile(`'([^']*)'|"([^"]*)"|\\((?s:.))`)
)

// words splits a list of flags as the go command and pkg-config quote them.
func words(s string) []string {
	list := word.FindAllString(s, -1)
	for i, w := range list {
		list[i] = quoting.ReplaceAllString(w, "$1$2$3")
	}
	return list
}

// harmless matches the flags that choose how to compile. Others make the compiler run programs,
// load plugins or write files.
var harmless = regexp.MustCompile(`^(` + strings.Join([]string{
	`-D[A-Za-z_]\w*(=[^@-].*|=-?\w*)?`, `-U[A-Za-z_]\w*`, `-[IF][^@-].*`,
	`-O[^@-]?.*`, `-g([^@-].*)?`, `-W[^@,]*`, `-w`, `-v`, `-pipe`, `-ansi`, `-pedantic(-errors)?`, `-pthread`,
	`--?std(lib)?=[^@-].*`, `-std=[^@-].*`, `-nostdinc`, `--sysroot=[^@-].*`, `--static`, `-no-canonical-prefixes`,
	`--param=ssp-buffer-size=\d*`,
	`-f[a-zA-Z0-9+-]+`,
	`-f(sanitize|visibility|tls-model|input-charset|message-length|macro-backtrace-limit|` +
		`(debug|file|macro)-prefix-map)=[^@-].*`,
	`-m[a-zA-Z0-9.-]+(=[^@-].*)?`,
}, "|") + `)$`)

var withValue = []string{
	"-D", "-U", "-I", "-F", "-arch", "-framework", "-include", "-isysroot", "-isystem",
	"--sysroot", "-target",
}

// checkFlags refuses flags of #cgo lines that the go command would refuse.
func checkFlags(line, variable, allow, disallow string, flags []string) error {
	matches := func(rule, flag string) bool {
		r, err := regexp.Compile("^(?:" + rule + ")$")
		return rule != "" && err == nil && r.MatchString(flag)
	}
	for i := 0; i < len(flags); i++ {
		flag := flags[i]
		bad := matches(disallow, flag)
		switch {
		case bad:
		case matches(allow, flag):
			continue
		case slices.Contains(withValue, flag) && i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "-") &&
			!strings.HasPrefix(flags[i+1], "@"):
			i++
			continue
		}
		if bad || !harmless.MatchString(flag) || strings.HasPrefix(flag, "-mllvm") ||
			strings.HasPrefix(flag, "-fdump") {
			return fmt.Errorf("#cgo %s: the flag %s is not one that chooses how to compile, and cgo refuses it too: "+
				"leave it out, or set %s_ALLOW to a pattern of it",
				line, flag, variable)
		}
	}
	return nil
}
