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
	"os"

	"evenkeel.dev/examples/internal/command"
)

func main() {
	var addr string
	command.Command{
		Name:  "fastcserver",
		Flags: func(fs *flag.FlagSet) { command.AddrFlag(fs, &addr, "127.0.0.1:8080") },
		Run: func(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
			handler, source, err := newHandler(stdout, os.Stderr)
			if err != nil {
				return err
			}
			ln, err := command.Listen(addr)
			if err != nil {
				return err
			}
			defer ln.Close()
			return command.Server{}.Serve(ctx, ln, handler, log, "fastc", source)
		},
	}.Main()
}
