//go:build linux

// Command demo runs two replicas behind HAProxy that collect under live traffic, and then gated
// ones. It writes gate.json and gate-events.ndjson for evenkeel compare.
//
//	go run ./gate/demo ../demo    # from bench/
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"evenkeel.dev/bench/gate"
	"evenkeel.dev/bench/harness"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("demo: ")
	if len(os.Args) != 2 {
		log.Fatal("name the folder for its files, such as ../demo")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	h := &harness.Harness{Cases: []harness.Case{gate.Demo(os.Args[1])}, Out: os.Stdout}
	err := h.Run(ctx, "")
	stop()
	if err != nil {
		log.Fatal(err)
	}
}
