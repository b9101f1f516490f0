package recorder

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

const hashDigits = 12 // of a commit, and of an executable

func thisBuild() string {
	info, _ := debug.ReadBuildInfo()
	return buildName(info, executableHash)
}

// buildName names a build; info may be nil. A hash tells a build without a commit, or with
// uncommitted changes, from others.
func buildName(info *debug.BuildInfo, hash func() string) string {
	var parts []string
	known := false
	if info != nil {
		parts, known = append(parts, info.Main.Version), info.Main.Version != "" && info.Main.Version != "(devel)"
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				parts, known = append(parts, s.Value[:min(len(s.Value), hashDigits)]), true
			case "vcs.modified": // comes after the revision
				known = known && s.Value != "true"
			}
		}
	}
	if !known {
		if h := hash(); h != "" {
			parts = append(parts, "executable "+h)
		}
	}
	name := strings.TrimSpace(strings.Join(parts, " "))
	if name == "" {
		return "unknown"
	}
	return name
}

// executableHash returns the beginning of the executable's SHA-256, "" if it cannot be read.
func executableHash() string {
	path := "/proc/self/exe" // the running file, even if its path now names another one
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))[:hashDigits]
}
