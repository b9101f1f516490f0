//go:build unix

package runfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner and the group of another file, if this user may.
func keepOwner(f *os.File, of fs.FileInfo) {
	if s, ok := of.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
