package httpgate

import (
	"net/http"
	"strings"
)

// IsStream reports whether r asks for a long stream: a protocol upgrade (WebSocket), Server-Sent
// Events, or CONNECT. To widen it, set [Options].Stream:
//
//	Stream: func(r *http.Request) bool {
//		return httpgate.IsStream(r) || strings.HasPrefix(r.URL.Path, "/watch/")
//	}
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodConnect ||
		len(r.Header["Upgrade"]) > 0 && lists(r.Header["Connection"], "upgrade") ||
		lists(r.Header["Accept"], "text/event-stream")
}

// lists reports whether the comma-separated values have item, in any case, whatever its parameters.
func lists(values []string, item string) bool {
	for _, v := range values {
		for v != "" {
			var part string
			part, v, _ = strings.Cut(v, ",")
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.Trim(part, " \t"), item) {
				return true
			}
		}
	}
	return false
}
