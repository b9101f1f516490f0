package reqtrace

import (
	"testing"

	"golang.org/x/exp/trace"
)

// TestHandlerLookedFor: while a mux looks for the route, neither what it calls nor the middleware
// around it is the handler.
func TestHandlerLookedFor(t *testing.T) {
	frames := []frame{
		{trace.StackFrame{Func: "net/http.(*ServeMux).matchOrRedirect"}, ownerStd},
		{trace.StackFrame{Func: "net/http.(*ServeMux).findHandler"}, ownerStd},
		{trace.StackFrame{Func: "net/http.(*ServeMux).ServeHTTP"}, ownerStd},
		{trace.StackFrame{Func: "main.logging.func1"}, ownerProgram},
		{trace.StackFrame{Func: "net/http.HandlerFunc.ServeHTTP"}, ownerStd},
	}
	if h := handlerOf(frames); h != -1 {
		t.Errorf("the handler is frame %d, want none", h)
	}
}

// TestHandlerByValue tests that middleware which calls the next handler as a function value is
// passed over once its line has called two handlers. Two calls on one line are not middleware, and
// neither is a handler that calls something.
func TestHandlerByValue(t *testing.T) {
	s := newSites()
	for i, tt := range []struct {
		callee, middleware string
		pc                 uint64 // of the middleware's call
		line               uint64
		want               int
	}{
		{"main.(*api).search", "main.observed.func1", 3, 30, 2}, // it could still be a handler
		{"main.(*api).search", "main.observed.func1", 3, 30, 2},
		{"main.(*api).store", "main.observed.func1", 4, 30, 2}, // another call on that line
		{"main.(*api).store", "main.observed.func1", 3, 30, 0},
		{"main.(*api).search", "main.observed.func1", 3, 30, 0},
		{"main.(*api).search", "main.run.counted.func1", 5, 40, 1}, // limited calls search too
		{"main.(*api).store", "main.run.counted.func2", 6, 40, 0},  // a copy
		{"main.(*api).store", "main.(*api).report", 5, 50, 2},      // a handler, and a function that it calls
		{"main.(*api).search", "main.(*api).report", 5, 50, 2},
	} {
		frames := []frame{
			{trace.StackFrame{Func: tt.callee}, ownerProgram},
			{trace.StackFrame{Func: tt.middleware, PC: tt.pc, Line: tt.line}, ownerProgram},
			{trace.StackFrame{Func: "main.run.(*api).limited.func6", PC: 7}, ownerProgram},
			{trace.StackFrame{Func: "net/http.HandlerFunc.ServeHTTP"}, ownerStd},
		}
		if tt.middleware == "main.(*api).report" {
			frames = append(frames[:2], frames[3])
			tt.want--
		}
		if h := s.handler(frames); h != tt.want {
			t.Errorf("%d: the handler is frame %d, want %d", i, h, tt.want)
		}
	}
}
