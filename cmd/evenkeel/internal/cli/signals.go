package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Catch cancels the context at the first SIGINT, SIGTERM or SIGHUP. The second closes a.Hurry, the
// third has its default effect. release undoes it.
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

// Patience returns a context that ends at the second signal.
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

// OutlivePipe makes a write to a closed pipe fail, instead of ending the program before its
// children. release undoes it.
func OutlivePipe() (release func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
