//go:build linux

package main

import "time"

// plant is a cause that was planted into a program, how it is loaded, and what is true of its slowest requests.
type plant struct {
	number  int
	name    string // for people: the program does not have it
	program string
	load    load
	truth   truth
}

// load is what the driver puts on a program.
type load struct {
	rate   float64 // requests a second; default 200
	small  string  // what most requests ask for: a path; over gRPC a method
	large  string  // what one of thirty asks for; "": the same
	http2  bool
	grpc   bool
	bodies [2][]byte         // over gRPC: of the small ones and of the large
	drip   bool              // some clients upload and send their bodies in pieces
	dirty  bool              // another program writes to the same disk and syncs
	freeze time.Duration     // the program is stopped so long, twice a second; 0: never
	env    map[string]string // of the program
}

// truth is what there is to say. Functions are as the verdict writes them, without file and line; one of several is right.
type truth struct {
	causes []string // none: there is nothing to name
	at     []string // where the requests wait, or what they do; none: it is not judged
	holder []string // who held what they wait for; none: nobody
	doing  []string // the cause that the holder's time had meanwhile
	ops    []string // what is waited for; none: it is not judged
	words  string   // that the verdict's sentence has
}

// collector are the causes that are the collector's work.
var collector = []string{"assist", "assist-wait", "sweep", "stopped", "runqueue-gc"}

func shopLoad(rate float64) load { return load{rate: rate, small: "/shop/small", large: "/shop/large"} }

func clerkLoad() load {
	return load{grpc: true, small: "/office.Clerk/File", large: "/office.Clerk/File", bodies: [2][]byte{[]byte("\x0a\x05small"), []byte("\x0a\x05large")}}
}

// plants are by number. Those from 31 on (later.go) are by somebody who had read docs/guides/explain.md and not the code of reqtrace.
//
// To add one: give a program a feature of that number (suite/shop, feed, clerk, edge;
// real/accounts, depot; or a new program, which begins as package start has it: it prints
// "listening on ADDRESS ADDRESS", the second of its profiles, and gets FEATURE, DIR, UPSTREAM,
// NAMES, SECURE and OFFICE in its environment), with names that a program of its kind would have.
//
// UPSTREAM answers after 60 ms under /archive/ and /shard/7, and at once elsewhere. NAMES, a name
// server, answers after 60 ms. SECURE's handshakes take as long, and so do OFFICE's calls about
// books, four at a time. What waits must be no more than a tenth of all requests and no less than a
// fiftieth, and wait for 20 ms at least: then it is the slowest 1% and not the median.
var plants = []plant{
	{1, "mutex, its holder asks a service", "shop", shopLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*prices).of"}, holder: []string{"main.(*prices).reload"}, doing: []string{"network"}, ops: []string{"mutex"},
	}},
	{2, "RWMutex, its writer computes", "shop", shopLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*stock).level"}, holder: []string{"main.(*stock).rebuild"}, doing: []string{"running"}, ops: []string{"RWMutex"},
	}},
	{3, "mutex, its holder writes and syncs", "shop", shopLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*ledger).note"}, holder: []string{"main.(*ledger).turn"}, doing: []string{"syscall"}, ops: []string{"mutex"},
	}},
	{4, "sync.Cond, who signals asks a service", "shop", shopLoad(0), truth{
		causes: []string{"lock"}, at: []string{"main.(*till).take"}, holder: []string{"main.(*till).count"}, doing: []string{"network"}, ops: []string{"condition"},
	}},
	{5, "channel as a semaphore", "shop", shopLoad(0), truth{
		causes: []string{"channel", "lock"}, at: []string{"main.(*courier).carry"}, holder: []string{"main.(*courier).depot"}, doing: []string{"network"},
	}},
	{6, "x/sync's semaphore", "shop", shopLoad(0), truth{
		causes: []string{"lock", "channel"}, at: []string{"main.(*reviews).read"}, holder: []string{"main.(*reviews).bring"}, doing: []string{"running"}, ops: []string{"semaphore"},
	}},
	{7, "singleflight", "shop", shopLoad(400), truth{
		causes: []string{"lock"}, at: []string{"main.(*rates).today"}, holder: []string{"main.(*rates).today", "main.(*rates).ask"}, doing: []string{"network"}, ops: []string{"singleflight"},
	}},
	{8, "rate limiter", "shop", shopLoad(0), truth{causes: []string{"sleep"}, at: []string{"main.(*mail).send"}, ops: []string{"rate limiter"}}},
	{9, "sleep before a second attempt", "shop", shopLoad(0), truth{causes: []string{"sleep"}, at: []string{"main.(*notices).deliver"}, ops: []string{"sleep"}}},
	{10, "worker pool with too few workers", "shop", shopLoad(0), truth{
		causes: []string{"channel"}, at: []string{"main.(*labels).print"}, holder: []string{"main.(*labels).printer"}, doing: []string{"sleep"},
	}},
	{11, "fsync", "shop", shopLoad(0), truth{causes: []string{"syscall"}, at: []string{"main.(*drafts).save"}, ops: []string{"fsync", "write"}}},
	{12, "bbolt, a write transaction while another one syncs", "depot", load{small: "/depot/small", dirty: true}, truth{
		causes: []string{"lock"}, at: []string{"main.(*depot).put"}, holder: []string{"main.(*depot).restock"}, doing: []string{"syscall"},
	}},
	{13, "C", "shop", shopLoad(0), truth{causes: []string{"cgo"}, at: []string{"main.(*pictures).thumb"}, ops: []string{"resample"}}},
	{14, "name server", "shop", shopLoad(0), truth{causes: []string{"network"}, at: []string{"main.(*shipping).carrier"}, ops: []string{"name server"}}},
	{15, "the machine stands still", "shop", load{small: "/shop/small", freeze: 80 * time.Millisecond}, truth{words: "machine stood still"}},
	{16, "large JSON", "shop", shopLoad(0), truth{causes: []string{"running"}, at: []string{"main.(*catalog).page"}}},
	{17, "assists", "shop", shopLoad(0), truth{causes: []string{"assist", "assist-wait", "sweep"}, at: []string{"main.grow", "main.(*advice).learn"}}},
	{18, "stopped world", "shop", load{small: "/shop/small", env: map[string]string{"GOMAXPROCS": "2"}}, truth{causes: []string{"stopped"}}},
	{19, "bursts of goroutines that compute", "shop", shopLoad(0), truth{causes: []string{"runqueue"}, holder: []string{"main.(*search).score"}}},
	{20, "collector that is always at work", "shop", load{rate: 400, small: "/shop/small", env: map[string]string{"GOMAXPROCS": "1"}}, truth{causes: collector}},
	{21, "nothing", "shop", load{small: "/shop/small"}, truth{}},
	{22, "HTTP/2 by std: RWMutex, its writer asks a service", "feed", load{http2: true, small: "/feed/a"}, truth{
		causes: []string{"lock"}, at: []string{"main.(*topics).about"}, holder: []string{"main.(*topics).update"}, doing: []string{"network"}, ops: []string{"RWMutex"},
	}},
	{23, "HTTP/2 by x/net: an owner that computes", "feed", load{http2: true, small: "/feed/a"}, truth{
		causes: []string{"channel"}, at: []string{"main.(*board).ask"}, holder: []string{"main.(*board).own"}, doing: []string{"running"},
	}},
	{24, "gRPC: mutex, its holder computes", "clerk", clerkLoad(), truth{
		causes: []string{"lock"}, at: []string{"main.(*shelf).add"}, holder: []string{"main.(*shelf).survey"}, doing: []string{"running"}, ops: []string{"mutex"},
	}},
	{25, "gRPC with stream workers: fsync", "clerk", clerkLoad(), truth{causes: []string{"syscall"}, at: []string{"main.(*copies).write"}, ops: []string{"fsync", "write"}}},
	{26, "gRPC: nothing", "clerk", clerkLoad(), truth{}},
	{27, "proxy, one of thirty backends is slow", "edge", load{small: "/edge/a"}, truth{causes: []string{"network"}, at: []string{"main.(*balancer).ServeHTTP"}}},
	{28, "fan-out, one of 120 shards is slow", "edge", load{small: "/edge/a", rate: 100}, truth{causes: []string{"network"}, at: []string{"main.(*joiner).part"}}},
	{29, "database/sql over cgo: pool of connections", "accounts", load{small: "/accounts/small"}, truth{
		causes: []string{"channel", "lock"}, at: []string{"main.(*accounts).balance"}, holder: []string{"main.(*accounts).statement"}, doing: []string{"cgo"}, ops: []string{"connection pool"},
	}},
	{30, "database/sql over a pure driver: a writer's lock", "accounts", load{small: "/accounts/small", rate: 50}, truth{
		causes: []string{"sleep", "syscall"}, at: []string{"main.(*accounts).post"},
	}},
}

// interopCall is a call of the interoperability server's UnaryCall: response_size is 100.
var interopCall = load{grpc: true, small: "/grpc.testing.TestService/UnaryCall", bodies: [2][]byte{[]byte("\x10\x64")}}

// etcdPut is a put of etcd's: a key and a value.
var etcdPut = load{grpc: true, rate: 50, dirty: true, small: "/etcdserverpb.KV/Put", bodies: [2][]byte{[]byte("\x0a\x03key\x12\x05value")}}

// proxied are the functions of Caddy's proxy that wait for the service behind.
var proxied = []string{"reverseproxy.(*Handler).reverseProxy", "reverseproxy.(*Handler).proxyLoopIteration", "reverseproxy.(*HTTPTransport).RoundTrip"}

// realPrograms are programs of others, with nothing of ours in the way but their main function. Names are PROGRAM: PLANT.
var realPrograms = []plant{
	{101, "Caddy 2.11: one of thirty answers of the service behind takes 60 ms", "caddy", load{small: "/a", large: "/archive/a"}, truth{
		causes: []string{"network"}, at: proxied,
	}},
	{102, "Caddy 2.11, HTTP/2: the same", "caddy", load{http2: true, small: "/a", large: "/archive/a"}, truth{causes: []string{"network"}, at: proxied}},
	{103, "etcd 3.7, embedded: another program writes to its disk and syncs", "etcd", etcdPut, truth{
		causes: []string{"channel", "lock", "syscall"}, words: "sync",
	}},
	{104, "gRPC 1.84's interoperability server: an interceptor's key is fetched anew under its lock", "calls", interopCall, truth{
		causes: []string{"lock"}, at: []string{"main.(*keys).valid"}, holder: []string{"main.(*keys).renew"}, doing: []string{"network"}, ops: []string{"RWMutex"},
	}},
	{105, "SQLite by mattn 1.14 (cgo): one of thirty queries joins", "accounts", load{rate: 50, small: "/accounts/small", large: "/accounts/large"}, truth{
		causes: []string{"cgo"}, at: []string{"main.(*accounts).history"},
	}},
	{106, "SQLite by modernc 1.61 (pure): the same", "accounts", load{rate: 50, small: "/accounts/small", large: "/accounts/large"}, truth{
		causes: []string{"running"}, at: []string{"main.(*accounts).history"},
	}},
	{107, "Prometheus' TSDB 0.305: one of thirty queries is one over an hour", "tsdb", load{small: "/api/v1/query", large: "/api/v1/query_range"}, truth{
		causes: []string{"running"}, words: "queryRange",
	}},
}
