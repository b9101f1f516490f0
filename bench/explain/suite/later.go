//go:build linux

package main

import "time"

func pressLoad(rate float64) load {
	return load{rate: rate, small: "/press/small", large: "/press/large"}
}

// laterPlants are by an engineer who had read docs/guides/explain.md alone. What is true of each was written down before its first run.
var laterPlants = []plant{
	{31, "LRU cache: mutex, its holder weighs all entries", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*cache).get"}, holder: []string{"main.(*cache).trim"}, doing: []string{"running"}, ops: []string{"mutex"},
	}},
	{32, "sessions: RWMutex, its writer writes and syncs", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*sessions).find"}, holder: []string{"main.(*sessions).keep"}, doing: []string{"syscall"}, ops: []string{"RWMutex"},
	}},
	{33, "RWMutex: readers behind a writer behind a reader that asks a service", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*orders).status"}, holder: []string{"main.(*orders).export"}, doing: []string{"network"}, ops: []string{"RWMutex"},
	}},
	{34, "nothing: sessions and an LRU cache", "press", pressLoad(0), truth{}},
	{35, "Once of a template that is loaded anew", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*pages).render"}, holder: []string{"main.(*pages).turn", "main.(*pages).load"}, doing: []string{"network"}, ops: []string{"Once"},
	}},
	{36, "sync.Cond, who broadcasts computes", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*tray).take"}, holder: []string{"main.(*tray).refill"}, doing: []string{"running"}, ops: []string{"condition"},
	}},
	{37, "WaitGroup for work that is no request's", "press", pressLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*issue).read"}, holder: []string{"main.(*issue).set"}, doing: []string{"running"}, ops: []string{"group of goroutines"},
	}},
	{38, "gRPC: singleflight, its call computes", "clerk", clerkLoad(), truth{
		causes: []string{"lock"}, at: []string{"main.(*register).find"}, holder: []string{"main.(*register).renew", "main.(*register).read"}, doing: []string{"running"}, ops: []string{"singleflight"},
	}},
	{39, "worker pool with a large job now and then", "press", pressLoad(0), truth{
		causes: []string{"channel"}, at: []string{"main.(*darkroom).develop"}, holder: []string{"main.(*darkroom).worker", "main.(*photo).expose"}, doing: []string{"running"},
	}},
	{40, "gRPC: channel as a semaphore, its holder syncs", "clerk", clerkLoad(), truth{
		causes: []string{"channel", "lock"}, at: []string{"main.(*scanner).scan"}, holder: []string{"main.(*scanner).batch", "main.(*scanner).keep"}, doing: []string{"syscall"}, ops: []string{"semaphore"},
	}},
	{41, "database/sql over a pure driver: transactions ask a service", "accounts", load{small: "/accounts/small"}, truth{
		causes: []string{"channel", "lock"}, at: []string{"main.(*accounts).balance"}, holder: []string{"main.(*accounts).confirm", "main.(*accounts).settle"}, doing: []string{"network"}, ops: []string{"connection pool"},
	}},
	{42, "database/sql over cgo: rows are open while a file is synced", "accounts", load{small: "/accounts/small"}, truth{
		causes: []string{"channel", "lock"}, at: []string{"main.(*accounts).balance"}, holder: []string{"main.(*accounts).write", "main.(*accounts).export"}, doing: []string{"syscall"}, ops: []string{"connection pool"},
	}},
	{43, "gRPC: rate limiter", "clerk", clerkLoad(), truth{causes: []string{"sleep"}, at: []string{"main.(*telegraph).send"}, ops: []string{"rate limiter"}}},
	{44, "attempts with pauses, by time.After", "edge", load{small: "/edge/a", large: "/edge/large"}, truth{causes: []string{"sleep"}, at: []string{"main.(*relay).again"}}},
	{45, "HTTP/2: nothing", "feed", load{http2: true, small: "/feed/a"}, truth{}},
	{46, "gRPC: a service behind", "clerk", clerkLoad(), truth{causes: []string{"network"}, at: []string{"main.(*cabinet).open"}}},
	{47, "clients that upload in pieces", "press", load{small: "/press/small", drip: true}, truth{causes: []string{"network"}, at: []string{"main.uploads.receive"}, words: "the client, which sends the request"}},
	{48, "a new connection over TLS each time", "press", pressLoad(0), truth{causes: []string{"network"}, at: []string{"main.(*press).get"}, ops: []string{"TLS handshake"}}},
	{49, "HTTP/2: name server", "feed", load{http2: true, small: "/feed/a", large: "/feed/large"}, truth{
		causes: []string{"network"}, at: []string{"main.(*agencies).locate"}, ops: []string{"name server"},
	}},
	{50, "bbolt, a commit that syncs", "depot", load{rate: 60, small: "/depot/small", large: "/depot/large", dirty: true}, truth{
		causes: []string{"syscall"}, at: []string{"main.(*depot).restock"}, ops: []string{"fdatasync"},
	}},
	{51, "a large file that is read", "press", pressLoad(0), truth{causes: []string{"syscall"}, at: []string{"main.(*plates).fetch"}, ops: []string{"pread", "read"}}},
	{52, "a child", "press", pressLoad(100), truth{causes: []string{"syscall"}, at: []string{"main.(*converter).pack"}, ops: []string{"waitid", "wait4"}}},
	{53, "C that computes", "press", pressLoad(0), truth{causes: []string{"cgo"}, at: []string{"main.seals.stamp"}, ops: []string{"digest"}}},
	{54, "assists of a request that imports", "press", load{rate: 100, small: "/press/small", large: "/press/large", env: map[string]string{"GOGC": "15"}}, truth{
		causes: []string{"assist", "assist-wait", "sweep"}, at: []string{"main.(*imports).parse"},
	}},
	{55, "ReadMemStats during a copy", "press", load{
		small: "/press/small", env: map[string]string{"GOMAXPROCS": "2"},
	}, truth{
		causes: []string{"stopped-other"},
	}},
	{56, "bursts of goroutines that index", "press", load{small: "/press/small", env: map[string]string{"GOMAXPROCS": "2"}}, truth{
		causes: []string{"runqueue"}, holder: []string{"main.(*index).chunk", "main.fold"},
	}},
	{57, "garbage beside a large heap, one processor", "press", load{rate: 300, small: "/press/small", env: map[string]string{"GOMAXPROCS": "1", "GOGC": "10"}}, truth{causes: collector}},
	{58, "HTTP/2: pictures are scaled", "feed", load{http2: true, rate: 100, small: "/feed/a", large: "/feed/large"}, truth{causes: []string{"running"}, at: []string{"main.(*gallery).scale"}}},
	{59, "gRPC: the machine stands still", "clerk", load{grpc: true, small: "/office.Clerk/File", bodies: [2][]byte{[]byte("\x0a\x05small")}, freeze: 100 * time.Millisecond}, truth{
		words: "machine stood still",
	}},
	{60, "database/sql over a pure driver: nothing", "accounts", load{rate: 100, small: "/accounts/small"}, truth{}},

	// Kinds on which explain failed when others tried it. Package verdict's own tests have CPU
	// quotas.
	{61, "a stack trace of 10,000 goroutines", "press", load{
		small: "/press/small", env: map[string]string{"GOMAXPROCS": "2"},
	}, truth{
		causes: []string{"stopped-other"}, words: "main.(*watchdog).look",
	}},
	{62, "a service behind, asked below two middlewares", "press", pressLoad(0), truth{
		causes: []string{"network"}, at: []string{"main.(*press).get"}, words: "main.(*frontDesk).answer",
	}},
	{63, "gRPC: a free stream of the connection to a service behind", "clerk", clerkLoad(), truth{
		causes: []string{"channel"}, at: []string{"main.(*branch).ask"}, words: "MaxConcurrentStreams",
	}},
}
