package cc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// flagRules are the user's own rules for the flags in #cgo lines.
type flagRules struct {
	CFlagsAllow      string `json:"CGO_CFLAGS_ALLOW"`
	CFlagsDisallow   string `json:"CGO_CFLAGS_DISALLOW"`
	CPPFlagsAllow    string `json:"CGO_CPPFLAGS_ALLOW"`
	CPPFlagsDisallow string `json:"CGO_CPPFLAGS_DISALLOW"`
}

// harmless matches the flags of #cgo lines that choose how to compile. Others make the compiler run
// programs, load plugins and write files.
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

// withValue are the flags whose value may be the next word.
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
