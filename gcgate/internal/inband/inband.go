// Package inband has the headers that announce collections to clients (docs/reference/protocol.md).
package inband

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers, as net/http spells them.
const (
	HeaderDrain      = "Gcgate-Drain"          // response: milliseconds
	HeaderProbe      = "Gcgate-Probe"          // request: "1" asks whether the service is back
	HeaderRefused    = "Gcgate-Refused"        // response: "1" proves that no handler ran
	HeaderRetryAfter = "Gcgate-Retry-After-Ms" // response
)

// MaxDrain is the longest time in a header. Clients ignore a longer one.
const MaxDrain = 10 * time.Minute

// MaxProbePause is the longest time to the next probe of a client.Transport.
const MaxProbePause = 500 * time.Millisecond

// ParseMillis reads the header with this name, by the grammar
//
//	millis = %x31-39 *5DIGIT ; 1 to 600000
//
// ok is false for anything else, and for more than one value.
func ParseMillis(h http.Header, name string) (d time.Duration, ok bool) {
	v := h[name]
	if len(v) != 1 || strings.HasPrefix(v[0], "0") {
		return 0, false
	}
	n, err := strconv.ParseUint(v[0], 10, 32)
	d = time.Duration(n) * time.Millisecond
	return d, err == nil && d <= MaxDrain
}

func FormatMillis(d time.Duration) string {
	d = min(max(d, 1), MaxDrain)
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// IsOne reports whether the header with this name is "1", once.
func IsOne(h http.Header, name string) bool {
	v := h[name]
	return len(v) == 1 && v[0] == "1"
}
