package history

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evenkeel.dev/reqtrace"
)

// Explain explains the slow requests of the execution trace in r. Each request goes to the cause that
// took most beyond what it takes of the usual request of its class. The usual requests are those of
// the same trace if it has 20 of the class, else those of Trace.Usual. A class whose usual request is
// slow is compared with nothing. A time in which the machine stood still is a cause like the others,
// because usual requests have no such time.
//
// Explain explains up to 4,096 slow requests, and the worst of each cause has its Path. A trace
// without requests explains nothing. If the trace is cut off, Explain explains the part that it can
// read.
func (h *Head) Explain(ctx context.Context, r io.Reader, o reqtrace.Options) (*Explained, error) {
	o.Beside = &reqtrace.Beside{CPU: h.CPU}
	e, err := explain(reqtrace.Read(ctx, r, o), &h.Trace)
	switch {
	case errors.Is(err, reqtrace.ErrNoRequests):
		return &Explained{}, nil
	case errors.Is(err, reqtrace.ErrBroken) && e.Requests+len(e.Slow) > 0:
		return e, nil
	}
	return e, err
}

// Answer is for a program that you name in reqtrace/recorder's Options.Analyze. The command
// evenkeel report -snapshot calls it too. Answer reads a [Head] from the first line of in, as JSON,
// and the execution trace from the rest. It writes the result of [Head.Explain] to out, as JSON.
func Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("history: read the first line of the input: %w", err)
	}
	var h Head
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("history: decode the first line of the input: %w", err)
	}
	e, err := h.Explain(ctx, r, reqtrace.Options{})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}
