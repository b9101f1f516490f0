package recorder

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestBuildName: two executables that differ have names that differ, whatever the go command knew.
func TestBuildName(t *testing.T) {
	info := func(version string, settings ...string) *debug.BuildInfo {
		i := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			i.Settings = append(i.Settings, debug.BuildSetting{Key: key, Value: value})
		}
		return i
	}
	const commit = "vcs.revision=0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		info *debug.BuildInfo
		hash string
		want string
	}{
		{info("v1.2.3"), "h", "v1.2.3"},
		{info("(devel)", commit, "vcs.modified=false"), "h", "(devel) 0123456789ab"},
		{info("(devel)", commit, "vcs.modified=true"), "h", "(devel) 0123456789ab executable h"},
		{
			info("v1.2.4-0.20261122-0123456789ab+dirty", commit, "vcs.modified=true"), "h",
			"v1.2.4-0.20261122-0123456789ab+dirty 0123456789ab executable h",
		},
		{info("(devel)"), "h", "(devel) executable h"},
		{info(""), "h", "executable h"},
		{nil, "h", "executable h"},
		{info("(devel)"), "", "(devel)"},
		{nil, "", "unknown"},
	} {
		if got := buildName(c.info, func() string { return c.hash }); got != c.want {
			t.Errorf("%+v: %q, want %q", c.info, got, c.want)
		}
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := executableHash(), fmt.Sprintf("%x", sha256.Sum256(b))[:hashDigits]; got != want {
		t.Errorf("the hash of this executable is %q, want %q", got, want)
	}
}
