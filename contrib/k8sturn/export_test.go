package k8sturn

import "time"

// A busy machine may keep Close from its answer for longer than a second.
func init() { closeTimeout = time.Minute }
