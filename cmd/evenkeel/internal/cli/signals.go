package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Catch has the first SIGINT, SIGTERM or SIGHUP end the context, so that the work ends and is
// reported; the second close a.Hurry, so that nobody is waited for; and the third do what it
// does by default. To be called where something is to be ended gently, and not before: until
// then a signal ends the program at once. release undoes it.
func (a *App) Catch(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	hurry := make(chan struct{})
	a.Hurry = hurry
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	released := make(chan struct{})
	go func() {
		defer signal.Stop(c)
		for _, act := range []func(){cancel, func() { close(hurry) }} {
			select {
			case <-c:
				act()
			case <-released:
				return
			}
		}
	}()
	return ctx, func() { close(released); cancel() }
}

// Patience returns a context that ends at the second signal, for what must end then at once.
func (a *App) Patience() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		select {
		case <-a.Hurry:
			cancel(errors.New("interrupted again"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// OutlivePipe has a write to a closed pipe fail instead of ending the program, which would
// leave children behind. release undoes it.
func OutlivePipe() (release func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
