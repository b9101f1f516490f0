package otelrecorder

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// maxSpans is as many as the recorder has slow requests that wait for a snapshot.
const maxSpans = 4096

// spans remembers the spans of slow requests until their cause is known, the newest ones.
type spans struct {
	mu   sync.Mutex
	kept []ended // a ring once it is full; guarded by mu
	next int     // in kept; guarded by mu
}

type ended struct {
	span trace.SpanContext // zero: taken
	at   time.Time
}

func (s *spans) add(span trace.SpanContext, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < maxSpans {
		s.kept = append(s.kept, ended{})
	}
	s.kept[s.next] = ended{span, at}
	s.next = (s.next + 1) % maxSpans
}

// take returns the span of the request that ended nearest to at, and forgets it.
func (s *spans) take(traceID string, at time.Time) (span trace.SpanContext, ok bool) {
	id, err := trace.TraceIDFromHex(traceID)
	if err != nil {
		return span, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var nearest *ended
	for i := range s.kept {
		e := &s.kept[i]
		if e.span.TraceID() == id && (nearest == nil || e.at.Sub(at).Abs() < nearest.at.Sub(at).Abs()) {
			nearest = e
		}
	}
	if nearest == nil {
		return span, false
	}
	span = nearest.span
	*nearest = ended{}
	return span, true
}
