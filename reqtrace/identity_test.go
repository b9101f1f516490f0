package reqtrace_test

import (
	"bytes"
	"context"
	"io"
	"runtime/trace"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// TestIdentity: two traces of overlapping times have the same clock and the same ends, so that a
// request that both have is told as one; also where one has no more than its end, with what it was
// told there.
func TestIdentity(t *testing.T) {
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Hour, MaxBytes: 64 << 20})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	defer fr.Stop()
	begin := time.Now()
	var late bytes.Buffer
	done := make(chan error)
	go func() {
		region.Start(context.Background(), "whole").End()
		time.Sleep(time.Microsecond) // the wait that ends it
		q := region.Start(context.Background(), "early")
		err := trace.Start(&late)
		trace.Log(context.Background(), region.IDCategory, "late")
		q.End()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	trace.Stop()
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if _, err := fr.WriteTo(b); err != nil {
			t.Fatal(err)
		}
	}
	read := func(r io.Reader) map[string]reqtrace.Request {
		all := map[string]reqtrace.Request{}
		for q, err := range reqtrace.Read(t.Context(), r, reqtrace.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			all[q.ID] = q
		}
		return all
	}
	a, b, c := read(&first), read(&second), read(&late)
	same := func(p, q reqtrace.Request) bool {
		return p.Clock != 0 && p.Goroutine == q.Goroutine && p.Clock == q.Clock
	}
	if len(a) != 2 || len(b) != 2 || !same(a["whole"], b["whole"]) || !same(a["late"], b["late"]) ||
		same(a["whole"], a["late"]) {
		t.Errorf("%+v\nand again\n%+v", a, b)
	}
	if q := c["late"]; len(c) != 1 || q.Cut != reqtrace.CutStart || !same(q, a["late"]) {
		t.Errorf("the one that is cut off is %+v, want it to be %+v", c, a["late"])
	}
	if at := a["whole"].Began; at.Before(begin.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("it began at %v, which is not between %v and now", at, begin)
	}
}
