package httpd

import (
	"testing"
	"time"
)

// SetFlushLimit has a client take something of what is queued within d, until the test ends; set it before a server is started.
func SetFlushLimit(t *testing.T, d time.Duration) {
	before := flushLimit
	flushLimit = d
	t.Cleanup(func() { flushLimit = before })
}
