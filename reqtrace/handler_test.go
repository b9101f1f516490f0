package reqtrace

import (
	"testing"

	"golang.org/x/exp/trace"
)

// TestHandlerLookedFor: while a mux looks for the route, neither what it calls nor the middleware around it is the handler.
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
