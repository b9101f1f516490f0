//go:build !unix || aix || illumos

package cli

import "os"

// columns returns how many columns a terminal has. 0: f is not a terminal, or it does not say.
func columns(*os.File) int { return 0 }
