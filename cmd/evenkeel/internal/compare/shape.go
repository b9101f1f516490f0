package compare

import (
	"fmt"

	"evenkeel.dev/loadgen"
)

// shapeText says what is not the usual in how a load was put on: HTTP/1.1, at constant gaps.
func shapeText(l *loadgen.Result) (t string) {
	switch l.Arrivals {
	case loadgen.ArrivalsPoisson:
		t += ", Poisson arrivals"
	case loadgen.ArrivalsTimes:
		t += ", at the times of a trace"
	}
	if n := len(l.Stages); n > 0 {
		t += fmt.Sprintf(", on average of %d stages", n)
	}
	if l.Protocol == loadgen.ProtocolHTTP2 {
		t += ", over HTTP/2"
		if l.Streams > 1 {
			t += fmt.Sprintf(" with %d streams each", l.Streams)
		}
	}
	return t
}
