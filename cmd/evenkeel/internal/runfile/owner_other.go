//go:build !unix

package runfile

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}
