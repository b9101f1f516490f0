package region

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime/trace"
	"strings"

	"evenkeel.dev/reqtrace/internal/mark"
)

// callHeader carries the id of a call that has no header of distributed tracing.
const callHeader = "Evenkeel-Call"

// Transport marks each request that next sends, so that evenkeel explain finds it in the trace of the
// service that answers it, if that one has [Middleware]. Next is http.DefaultTransport if it is nil.
//
// The id is that of the caller's span, in the header traceparent (W3C Trace Context), b3 or X-B3-SpanId
// (Zipkin). Transport reads these headers and changes none, so put it inside of a transport that sets
// them. While a trace is taken, a request without them is sent as a copy with the header
// Evenkeel-Call. Without a trace Transport does nothing.
func Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{next}
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if name, value := MarkCall(r.Context(), headers(r.Header).get); name != "" {
		sent := *r
		if sent.Header = maps.Clone(r.Header); sent.Header == nil {
			sent.Header = http.Header{}
		}
		sent.Header[name] = []string{value}
		r = &sent
	}
	return t.next.RoundTrip(r)
}

// MarkCall marks a call that the calling goroutine makes now, for other protocols than HTTP. get returns
// a header by its canonical name, or "". If none has an id, MarkCall returns a header to send with the
// call. Without a trace it does nothing.
func MarkCall(ctx context.Context, get func(name string) string) (name, value string) {
	if !trace.IsEnabled() {
		return "", ""
	}
	id := spanID(get)
	if id == "" { // a proxy may have copied callHeader of another call
		id = hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
		name, value = callHeader, id
	}
	trace.Log(ctx, mark.Call, id)
	return name, value
}

// MarkCaller marks which call brought the request that [Start] began on this goroutine. get returns a
// header by its canonical name, or "". Without a trace it does nothing.
func MarkCaller(ctx context.Context, get func(name string) string) {
	if !trace.IsEnabled() {
		return
	}
	if id := cmp.Or(spanID(get), validID(get(callHeader))); id != "" {
		trace.Log(ctx, mark.Caller, id)
	}
}

// CloseIdleConnections serves http.Client.CloseIdleConnections.
func (t transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type headers http.Header

// get returns a header by its canonical name, or "". http.Header.Get takes longer, for any name.
func (h headers) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

const idLength = 16 // hexadecimal digits of a span

// spanID returns the caller's span in the headers of distributed tracing, or "".
func spanID(get func(name string) string) string {
	_, afterTrace, _ := strings.Cut(get("B3"), "-") // trace-span, trace-span-sampled, and so on
	b3, _, _ := strings.Cut(afterTrace, "-")
	return cmp.Or(parentID(get("Traceparent")), validID(b3), validID(get("X-B3-Spanid")))
}

// parentID returns the span of a traceparent: version-trace-span-flags.
func parentID(v string) string {
	if len(v) < 55 || v[2] != '-' || v[35] != '-' || v[52] != '-' || v[:2] == "ff" {
		return ""
	}
	return validID(v[36:52])
}

func validID(id string) string {
	if len(id) != idLength || strings.Trim(id, "0") == "" || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}
