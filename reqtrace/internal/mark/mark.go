// Package mark has the marks of requests in an execution trace.
package mark

import (
	"context"
	"runtime/trace"
)

const (
	Region = "evenkeel.request"       // type of the regions
	ID     = "evenkeel.request.id"    // category of the log events with a request's id
	Class  = "evenkeel.request.class" // category of the log events with a request's route
	Caller = "evenkeel.caller"        // category of the log events with the id of the call that brought a request
	Call   = "evenkeel.call"          // category of the log events with the id of a call that begins
)

// LogClass logs the first 128 bytes of a route, unless it is "".
func LogClass(ctx context.Context, class string) {
	if class != "" {
		trace.Log(ctx, Class, class[:min(len(class), 128)])
	}
}
