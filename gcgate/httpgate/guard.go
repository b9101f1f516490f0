package httpgate

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"evenkeel.dev/gcgate"
)

const guardTimeout = 30 * time.Second

// Guarded is a handler with a gate that [Guard] started. Any goroutine may call its methods.
type Guarded struct {
	next http.Handler
	gate *gcgate.Gate // nil: it could not start
	err  error
}

// Guard starts a gate and returns next with its requests counted:
//
//	http.ListenAndServe(addr, httpgate.Guard(mux, gcgate.Options{}))
//
// Without options the gate spends memory on fewer collections ([gcgate.PolicyAuto]).
//
// If the gate cannot start, the log says why at Error, [Guarded.Err] returns it, and requests are
// served without a gate. Put it outermost, as [Wrap].
func Guard(next http.Handler, o gcgate.Options) *Guarded {
	ctx, cancel := context.WithTimeout(context.Background(), guardTimeout)
	defer cancel()
	gate, err := gcgate.Start(ctx, o)
	if err != nil {
		cmp.Or(o.Logger, slog.Default()).Error(
			"httpgate: no gate: serving without one, so requests overlap collections as before", "error", err)
	}
	return &Guarded{next: Wrap(gate, next), gate: gate, err: err}
}

// ServeHTTP implements [http.Handler].
func (g *Guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.next.ServeHTTP(w, r) }

// Gate returns the gate, nil if it could not start. [Wrap], [Status] and contrib's metrics accept
// nil.
func (g *Guarded) Gate() *gcgate.Gate { return g.gate }

// Err returns why the gate could not start: an [*evenkeel.OptionError], [gcgate.ErrRunning], or
// nil.
func (g *Guarded) Err() error { return g.err }

// Stop stops the gate as [gcgate.Gate.Stop] does. Requests are served on.
func (g *Guarded) Stop(ctx context.Context) error {
	if g.gate == nil {
		return nil
	}
	return g.gate.Stop(ctx)
}
