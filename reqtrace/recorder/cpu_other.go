//go:build !unix && !windows

package recorder

import "time"

// cpu is not known here: the recorder keeps within what it may take of a process that idles.
func (p *runtimeProcess) cpu() time.Duration { return 0 }
