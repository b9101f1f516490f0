package main

import (
	"net"

	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"
)

// serveNbio is the echo server of nbio's README with one poller. The README copies the data
// before the write; Write does so itself for what the socket does not take, so that here, as in
// every other server, nothing is copied in vain.
func serveNbio(c config, ready func(net.Addr)) error {
	logging.SetLevel(logging.LevelNone)
	engine := nbio.NewEngine(nbio.Config{
		Network: "tcp", Addrs: []string{c.addr}, NPoller: 1,
		Listen: func(network, addr string) (net.Listener, error) {
			ln, err := listen(network, addr)
			if err == nil {
				ready(ln.Addr())
			}
			return ln, err
		},
	})
	engine.OnData(func(c *nbio.Conn, data []byte) {
		_, _ = c.Write(data) // on an error the engine has closed the connection
	})
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}
