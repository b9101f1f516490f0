// Command fastcserver is an HTTP service of Gin that does its work in C, by ordinary cgo and by
// fastc:
//
//	go run ./fastcserver          # from examples/; then: curl 127.0.0.1:8080/blockcall/62/2
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"

	"evenkeel.dev/examples/internal/command"
)

func main() {
	command.Command{
		Name: "fastcserver", Addr: "127.0.0.1:8080", Flags: func(*flag.FlagSet) {},
		Listen: func(ctx context.Context, ln net.Listener, stdout io.Writer, log *slog.Logger) error {
			handler, source, err := newHandler(stdout, os.Stderr)
			if err != nil {
				return err
			}
			return command.Server{}.Serve(ctx, ln, handler, log, "fastc", source)
		},
	}.Main()
}
