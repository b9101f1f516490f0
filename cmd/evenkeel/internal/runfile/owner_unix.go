//go:build unix

package runfile

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner needs the right to change the owner, and else does nothing.
func keepOwner(f *os.File, of fs.FileInfo) {
	if s, ok := of.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
