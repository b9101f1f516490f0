//go:build !unix || aix || illumos

package cli

import "os"

// columns returns the width of a terminal. 0 means not known.
func columns(*os.File) int { return 0 }
