package httpd

import (
	"sync"
	"testing"
	"time"
)

// SetFlushLimit has a client take something of what is queued within d, until the test ends; set it
// before a server is started.
func SetFlushLimit(t *testing.T, d time.Duration) {
	before := flushLimit
	flushLimit = d
	t.Cleanup(func() { flushLimit = before })
}

// SetProof has the proof say err, as in a process that has not logged it, until the test ends.
func SetProof(t *testing.T, err error) {
	before, said := prove, unproven
	prove, unproven = func() error { return err }, new(sync.Once)
	t.Cleanup(func() { prove, unproven = before, said })
}
