package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/fasthttp"
)

func serveFasthttp(ln net.Listener) error {
	return (&fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) {
		body, kind := answer(string(c.Path()))
		c.SetContentType(kind)
		c.SetBody(body)
	}}).Serve(ln)
}

// serveNbio has one poller, and handlers on nbio's pool.
func serveNbio(addr string) error {
	logging.SetLevel(logging.LevelNone)
	engine := nbhttp.NewEngine(nbhttp.Config{
		Network: "tcp", Addrs: []string{addr}, NPoller: 1,
		Handler: http.HandlerFunc(handle),
	})
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}

// serveHertz runs on netpoll, hertz's default.
func serveHertz(addr string) error {
	hlog.SetLevel(hlog.LevelFatal)
	hlog.SetOutput(io.Discard)
	h := hertz.New(hertz.WithHostPorts(addr), hertz.WithDisablePrintRoute(true))
	h.Any("/*path", func(_ context.Context, c *app.RequestContext) {
		body, kind := answer(string(c.Path()))
		c.Data(http.StatusOK, kind, body)
	})
	return h.Run()
}

// gnetHTTP finds only the ends of requests and their paths, which shows what a parser costs.
type gnetHTTP struct{ gnet.BuiltinEventEngine }

func serveGnet(addr string) error {
	return gnet.Run(&gnetHTTP{}, "tcp://"+addr, gnet.WithNumEventLoop(1), gnet.WithLogger(quiet{}))
}

// quiet logs fatal errors only, because standard output is for the harness.
type quiet struct{}

func (quiet) Debugf(string, ...any)             {}
func (quiet) Infof(string, ...any)              {}
func (quiet) Warnf(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { log.Fatalf("server: gnet: "+format, args...) }

func (*gnetHTTP) OnTraffic(c gnet.Conn) gnet.Action {
	for {
		buf, _ := c.Peek(-1)
		end := bytes.Index(buf, []byte("\r\n\r\n"))
		if end < 0 {
			return gnet.None
		}
		_, rest, _ := bytes.Cut(buf[:end], []byte(" "))
		path, _, _ := bytes.Cut(rest, []byte(" "))
		body, kind := answer(string(path))
		if _, err := c.Discard(end + 4); err != nil {
			return gnet.Close
		}
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, len(body))
		if _, err := c.Writev([][]byte{head, body}); err != nil {
			return gnet.Close
		}
	}
}
