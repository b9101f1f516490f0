package gcgate

import (
	"net/http"
	"strconv"
	"time"
)

// The headers of the in-band protocol (docs/reference/protocol.md), as net/http spells them.
const (
	headerDrain      = "Gcgate-Drain"          // response: away, for so many ms
	headerProbe      = "Gcgate-Probe"          // request: "1" asks the middleware whether it is back
	headerRefused    = "Gcgate-Refused"        // response: "1" proves that no handler ran
	headerRetryAfter = "Gcgate-Retry-After-Ms" // response: Retry-After in ms
)

// maxAway is the longest time that a header may say; more is a mistake and is not heeded.
const maxAway = 10 * time.Minute

// parseMillis returns the duration in the one value of header name, by the grammar
//
//	millis = %x31-39 *5DIGIT ; 1 to 600000
//
// Anything else, more than one value included, is no announcement: ok is false.
func parseMillis(h http.Header, name string) (d time.Duration, ok bool) {
	v := h[name]
	if len(v) != 1 || len(v[0]) == 0 || len(v[0]) > 6 || v[0][0] == '0' {
		return 0, false
	}
	for _, c := range []byte(v[0]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = d*10 + time.Duration(c-'0')
	}
	d *= time.Millisecond
	return d, d <= maxAway
}

// formatMillis is the inverse of parseMillis; it rounds up, and into the grammar's range.
func formatMillis(d time.Duration) string {
	d = min(max(d, 1), maxAway)
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// formatSeconds is d as the value of Retry-After: whole seconds, rounded up, at least 1.
func formatSeconds(d time.Duration) string {
	d = min(max(d, 1), maxAway)
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// isOne reports whether header name has the one value "1".
func isOne(h http.Header, name string) bool {
	v := h[name]
	return len(v) == 1 && v[0] == "1"
}
