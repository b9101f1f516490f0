package otelrecorder

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// maxSpans is as many as the recorder has slow requests that wait for a snapshot.
const maxSpans = 4096

// spans remembers the spans of slow requests until their cause is known, the newest ones.
type spans struct {
	mu    sync.Mutex
	of    map[trace.TraceID][]ended // the oldest first; guarded by mu
	order [maxSpans]trace.TraceID   // a ring, of those that were added; guarded by mu
	next  int                       // in order; guarded by mu
}

type ended struct {
	span   trace.SpanContext
	at     time.Time
	number int // in order
}

func newSpans() *spans { return &spans{of: map[trace.TraceID][]ended{}} }

func (s *spans) add(span trace.SpanContext, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.next % maxSpans
	if old := s.order[number]; old.IsValid() {
		s.remove(old, func(e ended) bool { return e.number == number })
	}
	s.order[number] = span.TraceID()
	s.of[span.TraceID()] = append(s.of[span.TraceID()], ended{span, at, number})
	s.next++
}

// take returns the span of the request that ended nearest to at, and forgets it.
func (s *spans) take(traceID string, at time.Time) (trace.SpanContext, bool) {
	id, err := trace.TraceIDFromHex(traceID)
	if err != nil {
		return trace.SpanContext{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.of[id]
	if len(list) == 0 {
		return trace.SpanContext{}, false
	}
	nearest := slices.MinFunc(list, func(a, b ended) int {
		return cmp.Compare(a.at.Sub(at).Abs(), b.at.Sub(at).Abs())
	})
	s.order[nearest.number] = trace.TraceID{}
	s.remove(id, func(e ended) bool { return e.number == nearest.number })
	return nearest.span, true
}

func (s *spans) remove(id trace.TraceID, is func(ended) bool) {
	if s.of[id] = slices.DeleteFunc(s.of[id], is); len(s.of[id]) == 0 {
		delete(s.of, id)
	}
}
