// Command raftkv is one member of a small replicated store. The leader hands over before it
// collects.
//
//	go run ./raftkv -id 1 -addr 127.0.0.1:5301 -gate      # and 2 on :5302, 3 on :5303, from examples/
//	curl -X PUT -H 'Kv-Client: me' -H 'Kv-Seq: 1' -d hello http://127.0.0.1:5301/kv/a
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/contrib/raftgate/etcdraft"
	"evenkeel.dev/examples/internal/service"
	"evenkeel.dev/examples/msgpush/window"
	"evenkeel.dev/examples/raftkv/kv"
	"evenkeel.dev/gcgate"
)

// bytes of a message of the window
const messageSize = 1024

type raftkv struct {
	id      uint64
	members string
	length  int
	batch   int
	warm    uint // MiB
	noTurn  bool

	transfer time.Duration
	given    *flag.FlagSet

	node   *kv.Node
	member *raftgate.Member
}

func main() { newService().Command().Main() }

func newService() service.Service {
	r := &raftkv{}
	return service.Service{
		Name: "raftkv", Addr: "127.0.0.1:5301",
		Flags: r.flags, Check: r.check, Prepare: r.prepare, Tune: r.tune,
		Handler: func() http.Handler { return r.node.Handler() }, Beside: r.beside, Close: r.close,
	}
}

func (r *raftkv) flags(fs *flag.FlagSet) {
	r.given = fs
	fs.Uint64Var(&r.id, "id", 1, "`number` of this member, from 1")
	fs.StringVar(&r.members, "members", "http://127.0.0.1:5301,http://127.0.0.1:5302,http://127.0.0.1:5303",
		"`URLs` of all members, in the order of their numbers")
	fs.UintVar(&r.warm, "warm", 0,
		"`MiB` that are taken from the system at the start, so that later memory is pre-faulted")
	fs.IntVar(&r.length, "window", 100_000, "`messages` of 1 KiB that live beside the store, for the collector to mark")
	fs.IntVar(&r.batch, "batch", 64, "`messages` that each write replaces")
	fs.DurationVar(&r.transfer, "transfer-timeout", 0,
		"how long a transfer of the leadership may take before another member is tried; default: raftgate's, 15ms")
	fs.BoolVar(&r.noTurn, "turn-taken", false,
		"the turn is never free, as where its holder does not give it back: the gate collects at its hard "+
			"threshold, without it")
}

func (r *raftkv) check() (err error) {
	r.given.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "turns", "etcd", "leases", "group", "no-turns", "replicas":
			err = fmt.Errorf("-%s: the members take turns among themselves: leave it out", f.Name)
		}
	})
	if err != nil {
		return err
	}
	for m := range strings.SplitSeq(r.members, ",") {
		if u, err := url.Parse(m); err != nil || u.Scheme == "" || u.Host == "" {
			return fmt.Errorf("-members: %q is no URL: write http://host:port", m)
		}
	}
	switch n := uint64(strings.Count(r.members, ",") + 1); {
	case r.id < 1 || r.id > n:
		return fmt.Errorf("-id %d: choose 1 to %d, one of -members", r.id, n)
	case r.batch < 1 || r.batch > r.length:
		return fmt.Errorf("-batch %d: choose 1 to %d, the window", r.batch, r.length)
	}
	return window.Check("ptr", messageSize, r.length)
}

func (r *raftkv) prepare(log *slog.Logger) error {
	window.Warm(int(r.warm) << 20)
	ballast := window.New("ptr", messageSize, r.length)
	members := strings.Split(r.members, ",")
	node, err := kv.Start(kv.Config{ID: r.id, Members: members, Applied: func() { ballast.Push(r.batch) }, Log: log})
	if err != nil {
		return err
	}
	r.node = node
	urls := map[string]string{}
	for i, m := range members {
		urls[etcdraft.ID(uint64(i)+1)] = m + "/raftgate"
	}
	r.member, err = raftgate.New(raftgate.Options{
		Raft: etcdraft.New(node.Raft()), TransferTimeout: r.transfer,
		Ask: raftgate.AskHTTP(nil, func(id string) string { return urls[id] }),
	})
	return err
}

func (r *raftkv) tune(o *gcgate.Options) {
	o.Signals = append(o.Signals, r.member)
	o.Turns = r.member
	if r.noTurn {
		o.Turns = taken{}
	}
	o.IdleRatio = 2 // TriggerRatio: a follower has no requests, and is not idle
	o.Replicas = strings.Count(r.members, ",") + 1
}

// taken is a turn that another process has, for ever.
type taken struct{}

func (taken) TryAcquire(context.Context) (gcgate.Lease, error) { return nil, gcgate.ErrHeld }

func (r *raftkv) beside(mux *http.ServeMux, g *service.Gate) {
	mux.Handle("POST /raft", r.node.Messages())
	mux.Handle("POST /raftgate", r.member)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		s := r.node.Raft().Status()
		_ = json.NewEncoder(w).Encode(stats{
			ID: s.ID, Leader: s.Lead, Term: s.GetTerm(), Applied: s.Applied, Member: r.member.Stats(), Gate: g.Stats(),
		})
	})
	mux.HandleFunc("POST /collect", g.ServeCollect)
}

type stats struct {
	ID, Leader, Term, Applied uint64
	Member                    raftgate.Stats
	Gate                      any
}

func (r *raftkv) close() {
	r.member.Close()
	r.node.Stop()
}
