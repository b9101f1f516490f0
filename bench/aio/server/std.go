package main

import "net"

// serveStd is package net's way: a goroutine and a buffer for each connection. It reads and
// writes, where io.Copy would splice within the kernel: a server looks at what it receives.
func serveStd(c config, ready func(net.Addr)) error {
	ln, err := listen("tcp", c.addr)
	if err != nil {
		return err
	}
	ready(ln.Addr())
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for buf := make([]byte, c.buf); ; {
				n, err := conn.Read(buf)
				if err != nil {
					return
				}
				if _, err := conn.Write(buf[:n]); err != nil {
					return
				}
			}
		}()
	}
}
