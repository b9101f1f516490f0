package reqtrace

import (
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/testutil"
)

// framesOf reads a stack, innermost first, a line a frame: a function, and its file and line. In a
// file's name GOROOT and MOD stand for where the toolchain and the module cache are.
func framesOf(t testing.TB, text string) (frames []frame) {
	t.Helper()
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n\t", " ") // a long path is on a line of its own
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 2 {
			t.Fatalf("%q", line)
		}
		colon := strings.LastIndexByte(f[1], ':')
		n, err := strconv.ParseUint(f[1][colon+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		file := strings.NewReplacer("GOROOT", "/usr/local/go/src", "MOD", "/go/pkg/mod").Replace(f[1][:colon])
		at := trace.StackFrame{Func: f[0], File: file, Line: n}
		frames = append(frames, frame{at, ownerOf(&at)})
	}
	return frames
}

// The outer end of a stack of net/http's server.
const byServer = `
net/http.serverHandler.ServeHTTP GOROOT/net/http/server.go:3311
net/http.(*conn).serve GOROOT/net/http/server.go:2073
net/http.(*Server).Serve.gowrap3 GOROOT/net/http/server.go:3464`

// TestPlaceOf: the places of stacks as programs of all kinds have them.
func TestPlaceOf(t *testing.T) {
	for name, tt := range map[string]struct {
		stack string
		want  place // without its owner
	}{
		"mutex behind chi and middleware": {
			`
sync.(*Mutex).Lock GOROOT/sync/mutex.go:46
main.(*table).look /srv/app/table.go:12
main.(*api).search /srv/app/api.go:40
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294
github.com/go-chi/chi/v5.(*Mux).routeHTTP MOD/github.com/go-chi/chi/v5@v5.2.1/mux.go:478
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294
main.logging.func1 /srv/app/middleware.go:9
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294
github.com/go-chi/chi/v5/middleware.Recoverer.func1 MOD/github.com/go-chi/chi/v5@v5.2.1/middleware/recoverer.go:45
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294
github.com/go-chi/chi/v5.(*Mux).ServeHTTP MOD/github.com/go-chi/chi/v5@v5.2.1/mux.go:91` + byServer,
			place{
				site: "main.(*table).look (table.go:12)", call: "sync.(*Mutex).Lock", op: "mutex",
				handler: "main.(*api).search (api.go:40)",
			},
		},
		"gin, a library's write": {
			`
internal/poll.(*FD).Write GOROOT/internal/poll/fd_unix.go:389
net.(*conn).Write GOROOT/net/net.go:188
net/http.checkConnErrorWriter.Write GOROOT/net/http/server.go:3899
bufio.(*Writer).Flush GOROOT/bufio/bufio.go:639
github.com/gin-gonic/gin.(*responseWriter).Flush MOD/github.com/gin-gonic/gin@v1.10.0/response_writer.go:125
main.stream shop/stream.go:20
github.com/gin-gonic/gin.(*Context).Next MOD/github.com/gin-gonic/gin@v1.10.0/context.go:185
github.com/gin-gonic/gin.CustomRecoveryWithWriter.func1 MOD/github.com/gin-gonic/gin@v1.10.0/recovery.go:102
github.com/gin-gonic/gin.(*Context).Next MOD/github.com/gin-gonic/gin@v1.10.0/context.go:185
github.com/gin-gonic/gin.(*Engine).handleHTTPRequest MOD/github.com/gin-gonic/gin@v1.10.0/gin.go:633
github.com/gin-gonic/gin.(*Engine).ServeHTTP MOD/github.com/gin-gonic/gin@v1.10.0/gin.go:589` + byServer,
			place{
				site: "main.stream (stream.go:20)", call: "gin.(*responseWriter).Flush",
				op: "client, which reads the answer",
			},
		},
		"echo": {
			`
time.Sleep GOROOT/runtime/time.go:300
shop.example/stock.Wait shop.example/stock/wait.go:7
main.order shop.example/main.go:31
github.com/labstack/echo/v4.(*Echo).add.func1 github.com/labstack/echo/v4@v4.13.3/echo.go:587
github.com/labstack/echo/v4/middleware.LoggerWithConfig.func2.1
	github.com/labstack/echo/v4@v4.13.3/middleware/logger.go:126
github.com/labstack/echo/v4.(*Echo).ServeHTTP github.com/labstack/echo/v4@v4.13.3/echo.go:668` + byServer,
			place{site: "stock.Wait (wait.go:7)", call: "time.Sleep", op: "sleep", handler: "main.order (main.go:31)"},
		},
		"grpc behind an interceptor": {
			`
sync.(*RWMutex).RLock GOROOT/sync/rwmutex.go:72
main.(*server).SayHello /srv/app/server.go:22
example.com/hello/pb._Greeter_SayHello_Handler.func1 /srv/app/pb/hello_grpc.pb.go:98
main.authenticate /srv/app/auth.go:17
example.com/hello/pb._Greeter_SayHello_Handler /srv/app/pb/hello_grpc.pb.go:100
google.golang.org/grpc.(*Server).processUnaryRPC MOD/google.golang.org/grpc@v1.83.2/server.go:1400
google.golang.org/grpc.(*Server).handleStream MOD/google.golang.org/grpc@v1.83.2/server.go:1810
google.golang.org/grpc.(*Server).serveStreams.func2.1 MOD/google.golang.org/grpc@v1.83.2/server.go:1030`,
			place{
				site: "main.(*server).SayHello (server.go:22)", call: "sync.(*RWMutex).RLock", op: "RWMutex",
				reader: true,
			},
		},
		"fasthttp": {
			`
golang.org/x/time/rate.(*Limiter).wait MOD/golang.org/x/time@v0.9.0/rate/rate.go:285
golang.org/x/time/rate.(*Limiter).WaitN MOD/golang.org/x/time@v0.9.0/rate/rate.go:250
golang.org/x/time/rate.(*Limiter).Wait MOD/golang.org/x/time@v0.9.0/rate/rate.go:235
main.limited /srv/app/main.go:14
main.handle /srv/app/main.go:20
github.com/valyala/fasthttp.(*Server).serveConn MOD/github.com/valyala/fasthttp@v1.58.0/server.go:2385
github.com/valyala/fasthttp.(*workerPool).workerFunc MOD/github.com/valyala/fasthttp@v1.58.0/workerpool.go:225`,
			place{
				site: "main.limited (main.go:14)", call: "rate.(*Limiter).Wait", op: "rate limiter",
				handler: "main.handle (main.go:20)",
			},
		},
		"caddy as a proxy: the library's own handler, in middleware of the program": {
			`
net/http.(*persistConn).roundTrip GOROOT/net/http/transport.go:2831
net/http.(*Transport).roundTrip GOROOT/net/http/transport.go:671
net/http.(*Transport).RoundTrip GOROOT/net/http/roundtrip.go:30
github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy.(*HTTPTransport).RoundTrip
	MOD/github.com/caddyserver/caddy/v2@v2.9.1/modules/caddyhttp/reverseproxy/httptransport.go:420
github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy.(*Handler).ServeHTTP
	MOD/github.com/caddyserver/caddy/v2@v2.9.1/modules/caddyhttp/reverseproxy/reverseproxy.go:470
example.com/gateway.tenant.ServeHTTP /srv/gateway/tenant.go:33
github.com/caddyserver/caddy/v2/modules/caddyhttp.(*Server).ServeHTTP
	MOD/github.com/caddyserver/caddy/v2@v2.9.1/modules/caddyhttp/server.go:404` + byServer,
			place{
				site: "reverseproxy.(*HTTPTransport).RoundTrip (httptransport.go:420 in " +
					"github.com/caddyserver/caddy/v2)",
				call:    "http.(*Transport).RoundTrip",
				handler: "reverseproxy.(*Handler).ServeHTTP (reverseproxy.go:470 in github.com/caddyserver/caddy/v2)",
			},
		},
		"a pool's connection, and the standard library's proxy": {
			`
database/sql.(*DB).conn GOROOT/database/sql/sql.go:1369
database/sql.(*DB).query GOROOT/database/sql/sql.go:1751
database/sql.(*DB).QueryContext GOROOT/database/sql/sql.go:1728
main.(*store).list /srv/app/store.go:44
main.list /srv/app/main.go:10
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294
net/http.(*ServeMux).ServeHTTP GOROOT/net/http/server.go:2822` + byServer,
			place{
				site: "main.(*store).list (store.go:44)", call: "sql.(*DB).QueryContext", op: "connection pool",
				handler: "main.list (main.go:10)",
			},
		},
		"a pool that opens a connection": {
			`
net.(*netFD).connect GOROOT/net/fd_unix.go:118
net.(*sysDialer).dialTCP GOROOT/net/tcpsock_posix.go:75
net.(*Dialer).DialContext GOROOT/net/dial.go:568
github.com/go-sql-driver/mysql.(*connector).Connect MOD/github.com/go-sql-driver/mysql@v1.9.0/connector.go:77
database/sql.(*DB).conn GOROOT/database/sql/sql.go:1415
main.(*store).list /srv/app/store.go:44`,
			place{site: "main.(*store).list (store.go:44)", call: "sql.(*DB).conn", op: "new connection"},
		},
		"mattn's sqlite": {
			`
runtime.cgocall GOROOT/runtime/cgocall.go:167
github.com/mattn/go-sqlite3._Cfunc__sqlite3_step_internal _cgo_gotypes.go:409
github.com/mattn/go-sqlite3.(*SQLiteRows).nextSyncLocked.func1 MOD/github.com/mattn/go-sqlite3@v1.14.24/sqlite3.go:2198
github.com/mattn/go-sqlite3.(*SQLiteRows).Next MOD/github.com/mattn/go-sqlite3@v1.14.24/sqlite3.go:2180
database/sql.(*Rows).Next GOROOT/database/sql/sql.go:3064
main.scan /srv/app/store.go:50`,
			place{site: "main.scan (store.go:50)", call: "sql.(*Rows).Next", op: "_sqlite3_step_internal"},
		},
		"cgo of the program's own": {
			`
main._Cfunc_step _cgo_gotypes.go:40
main.compute /srv/app/c.go:12`,
			place{site: "main.compute (c.go:12)", call: "C.step", op: "step"},
		},
		"C has called Go, which sleeps": {
			`
time.Sleep GOROOT/runtime/time.go:300
main.onRow /srv/app/row.go:5
runtime.cgocallbackg1 GOROOT/runtime/cgocall.go:444
runtime.cgocallbackg GOROOT/runtime/cgocall.go:350
runtime.cgocallback GOROOT/runtime/asm_amd64.s:1084
runtime.cgocall GOROOT/runtime/cgocall.go:167
main._Cfunc_each _cgo_gotypes.go:40
main.scan /srv/app/c.go:12`,
			place{site: "main.onRow (row.go:5)", call: "time.Sleep", op: "sleep"},
		},
		"modernc's sqlite": {
			`
syscall.Syscall GOROOT/syscall/syscall_linux.go:73
golang.org/x/sys/unix.Fsync MOD/golang.org/x/sys@v0.30.0/unix/zsyscall_linux.go:687
modernc.org/libc.Xfsync MOD/modernc.org/libc@v1.61.13/libc_linux.go:1018
modernc.org/sqlite/lib._full_fsync MOD/modernc.org/sqlite@v1.34.5/lib/sqlite_linux_amd64.go:20001
modernc.org/sqlite.(*conn).step MOD/modernc.org/sqlite@v1.34.5/sqlite.go:935
database/sql.(*DB).ExecContext GOROOT/database/sql/sql.go:1666
main.save /srv/app/store.go:9`,
			place{site: "main.save (store.go:9)", call: "sql.(*DB).ExecContext", op: "fsync"},
		},
		"etcd embedded: none of the program's own": {
			`
syscall.Syscall GOROOT/syscall/syscall_linux.go:73
syscall.Fdatasync GOROOT/syscall/zsyscall_linux_amd64.go:610
go.etcd.io/bbolt.fdatasync MOD/go.etcd.io/bbolt@v1.5.0/bolt_linux.go:9
go.etcd.io/bbolt.(*Tx).Commit MOD/go.etcd.io/bbolt@v1.5.0/tx.go:220
go.etcd.io/etcd/server/v3/storage/backend.(*batchTx).commit
	MOD/go.etcd.io/etcd/server/v3@v3.7.0/storage/backend/batch_tx.go:268
go.etcd.io/etcd/server/v3/storage/backend.newBackend.gowrap1
	MOD/go.etcd.io/etcd/server/v3@v3.7.0/storage/backend/backend.go:232`,
			place{
				site: "bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt)", call: "syscall.Fdatasync",
				op: "fdatasync",
			},
		},
		"a semaphore": {
			`
golang.org/x/sync/semaphore.(*Weighted).Acquire MOD/golang.org/x/sync@v0.11.0/semaphore/semaphore.go:74
main.resize /srv/app/main.go:8`,
			place{site: "main.resize (main.go:8)", call: "semaphore.(*Weighted).Acquire", op: "semaphore"},
		},
		"singleflight": {
			`
sync.(*WaitGroup).Wait GOROOT/sync/waitgroup.go:118
golang.org/x/sync/singleflight.(*Group).Do MOD/golang.org/x/sync@v0.11.0/singleflight/singleflight.go:113
main.price /srv/app/main.go:8`,
			place{site: "main.price (main.go:8)", call: "singleflight.(*Group).Do", op: "singleflight"},
		},
		"uber's rate limiter": {
			`
time.Sleep GOROOT/runtime/time.go:300
github.com/benbjohnson/clock.(*clock).Sleep MOD/github.com/benbjohnson/clock@v1.3.0/clock.go:57
go.uber.org/ratelimit.(*atomicInt64Limiter).Take MOD/go.uber.org/ratelimit@v0.3.1/limiter_atomic_int64.go:93
main.send /srv/app/main.go:8`,
			place{site: "main.send (main.go:8)", call: "ratelimit.(*atomicInt64Limiter).Take", op: "rate limiter"},
		},
		"net/rpc": {
			`
main.(*Arith).Multiply /srv/app/arith.go:8
reflect.Value.call GOROOT/reflect/value.go:581
reflect.Value.Call GOROOT/reflect/value.go:365
net/rpc.(*service).call GOROOT/net/rpc/server.go:382`,
			place{site: "main.(*Arith).Multiply (arith.go:8)"},
		},
		"a template calls a method: no handler": {
			`
os.(*File).Read GOROOT/os/file.go:124
main.page.Body /srv/app/page.go:8
reflect.Value.Call GOROOT/reflect/value.go:365
text/template.(*state).evalCall GOROOT/text/template/exec.go:780
main.show /srv/app/main.go:30
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294` + byServer,
			place{site: "main.page.Body (page.go:8)", call: "os.(*File).Read", handler: "main.show (main.go:30)"},
		},
		"connect calls the program from its own handler": {
			`
runtime.chanrecv1 GOROOT/runtime/chan.go:509
main.(*svc).Ask /srv/app/svc.go:8
connectrpc.com/connect.NewUnaryHandler[...].func1 MOD/connectrpc.com/connect@v1.18.1/handler.go:53
connectrpc.com/connect.(*Handler).ServeHTTP MOD/connectrpc.com/connect@v1.18.1/handler.go:238` + byServer,
			place{site: "main.(*svc).Ask (svc.go:8)"},
		},
		"a deferred unlock, and dots in the package's name": {
			`
sync.(*Mutex).Unlock GOROOT/sync/mutex.go:65
gopkg.in/yaml%2ev3.(*cache).get.deferwrap1 MOD/gopkg.in/yaml.v3@v3.0.1/cache.go:12`,
			place{
				site: "yaml.v3.(*cache).get (cache.go:12 in gopkg.in/yaml.v3)", call: "sync.(*Mutex).Unlock",
				op: "mutex",
			},
		},
		"a module cache of another name, and capital letters": {
			`
github.com/BurntSushi/toml.Decode /cache/github.com/!burnt!sushi/toml@v1.4.0/decode.go:40`,
			place{site: "toml.Decode (decode.go:40 in github.com/BurntSushi/toml)"},
		},
		"vendored": {
			`
sync.(*Cond).Wait GOROOT/sync/cond.go:71
github.com/x/queue.(*Q).Pop /srv/app/vendor/github.com/x/queue/q.go:5`,
			place{site: "queue.(*Q).Pop (q.go:5 in github.com/x/queue)", call: "sync.(*Cond).Wait", op: "condition"},
		},
		"the standard library alone": {
			`
syscall.Syscall GOROOT/syscall/syscall_linux.go:73
syscall.write GOROOT/syscall/zsyscall_linux_amd64.go:964
internal/poll.(*FD).Write GOROOT/internal/poll/fd_unix.go:389
net/http.checkConnErrorWriter.Write GOROOT/net/http/server.go:3899
net/http.(*conn).serve GOROOT/net/http/server.go:2073`,
			place{op: "write"},
		},
		"the standard library's proxy": {
			`
net/http.(*Transport).getConn GOROOT/net/http/transport.go:1563
net/http/httputil.(*ReverseProxy).ServeHTTP GOROOT/net/http/httputil/reverseproxy.go:480
net/http.(*ServeMux).ServeHTTP GOROOT/net/http/server.go:2822` + byServer,
			place{
				site: "httputil.(*ReverseProxy).ServeHTTP (reverseproxy.go:480)", call: "http.(*Transport).getConn",
				op: "connection to a server",
			},
		},
		"the program's handler behind middleware that calls it": {
			`
runtime.chanrecv1 GOROOT/runtime/chan.go:509
main.(*api).ServeHTTP /srv/app/api.go:9
main.logging.func1 /srv/app/main.go:30
net/http.HandlerFunc.ServeHTTP GOROOT/net/http/server.go:2294` + byServer,
			place{site: "main.(*api).ServeHTTP (api.go:9)"},
		},
		"a system call by its number": {
			`
syscall.Syscall6 GOROOT/syscall/syscall_linux.go:96
example.com/uring/v2.(*Ring).enter MOD/example.com/uring/v2@v2.0.1/ring.go:12
main.submit /srv/app/main.go:9`,
			place{site: "main.submit (main.go:9)", call: "uring.(*Ring).enter", op: "uring.(*Ring).enter"},
		},
		"a system call by its number, in the program": {
			`
syscall.Syscall GOROOT/syscall/syscall_linux.go:73
main.submit /srv/app/main.go:9`,
			place{site: "main.submit (main.go:9)", call: "syscall.Syscall", op: "syscall.Syscall"},
		},
		"a name server, while a client connects": {
			`
net.(*Resolver).lookupIPAddr GOROOT/net/lookup.go:343
net.(*Dialer).DialContext GOROOT/net/dial.go:535
main.ask /srv/app/main.go:9`,
			place{site: "main.ask (main.go:9)", call: "net.(*Dialer).DialContext", op: "name server"},
		},
		"nothing": {"", place{}},
	} {
		t.Run(name, func(t *testing.T) {
			frames := framesOf(t, tt.stack)
			got, _ := placeOf(frames, newSites().handler(frames))
			got.owner = 0
			if got != tt.want {
				t.Errorf("%+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestHandlerOf: net/http's own work before and after a handler is no handler, nor is what the
// runtime does on its stack.
func TestHandlerOf(t *testing.T) {
	const mux, fileServer = "net/http.(*ServeMux).ServeHTTP", "net/http.(*fileHandler).ServeHTTP"
	for _, tt := range []struct{ inner, outer, want string }{
		{"runtime.asyncPreempt", "net/http.HandlerFunc.ServeHTTP", ""},
		{"runtime.mallocgc", mux, ""},
		{"net/http.(*ServeMux).findHandler", mux, ""},
		{"context.WithTimeout", "net/http.(*timeoutHandler).ServeHTTP", ""},
		{"net/http/pprof.Index", "net/http.HandlerFunc.ServeHTTP", "net/http/pprof.Index"},
		{"net/http.serveFile", fileServer, "net/http.serveFile"},
		{"net/http/httputil.(*ReverseProxy).ServeHTTP", mux, "net/http/httputil.(*ReverseProxy).ServeHTTP"},
	} {
		stack := tt.inner + " GOROOT/inner.go:1\n" + tt.outer + " GOROOT/net/http/server.go:2294"
		frames, got := framesOf(t, stack+byServer), ""
		if h := handlerOf(frames); h >= 0 && !dispatches(&frames[h]) {
			got = frames[h].Func
		}
		if got != tt.want {
			t.Errorf("%s\n%q, want %q", stack, got, tt.want)
		}
	}
}

// TestCgo: time in C is C's, whether its call is told by cgo's function or the runtime's; what C calls in Go is not.
func TestCgo(t *testing.T) {
	for name, tt := range map[string]struct {
		funcs []string
		want  bool
	}{
		"by the runtime":  {[]string{"runtime.cgocall", "main._Cfunc_f", "main.call"}, true},
		"by its function": {[]string{"main._Cfunc_f", "main.call"}, true},
		"a system call":   {[]string{"syscall.read", "main.call"}, false},
		"called by C": {[]string{
			"syscall.read", "main.back", "runtime.cgocallbackg", "runtime.cgocall",
			"main._Cfunc_f", "main.call",
		}, false},
		"called by C, calls C": {[]string{
			"main._Cfunc_g", "main.back", "runtime.cgocallbackg", "runtime.cgocall",
			"main._Cfunc_f", "main.call",
		}, true},
	} {
		if got := newSites().look(&goroutine{}, stack(tt.funcs...)).cgo; got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestStdRoots(t *testing.T) {
	testutil.Slow(t, "runs the go command")
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	var roots []string
	for pkg := range strings.FieldsSeq(string(out)) {
		root, _, _ := strings.Cut(pkg, "/")
		roots = append(roots, root)
	}
	slices.Sort(roots)
	if d := cmp.Diff(slices.Compact(roots), slices.Sorted(maps.Keys(stdRoots))); d != "" {
		t.Errorf("-go list std +stdRoots: %s", d)
	}
}

func TestInStandardLibrary(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.mallocgc":                                           true,
		"net/http.(*conn).serve":                                     true,
		"net/http.HandlerFunc.ServeHTTP":                             true,
		"bytes.growSlice":                                            true,
		"slices.SortFunc[go.shape.[]main.T]":                         true,
		"sync.OnceValue[go.shape.*uint8].func1":                      true,
		"internal/poll.(*FD).Read":                                   true,
		"vendor/golang.org/x/net/http/httpguts.ValidHeaderFieldName": true,
		"main.main":                              false,
		"main.sum[go.shape.[]net/http.Handler]":  false,
		"example.com/net/http.F":                 false,
		"github.com/a/b.(*T).M.func1":            false,
		"golang.org/x/net/http2.(*Server).serve": false,
		"go.uber.org/zap.(*Logger).Info":         false,
		"go.opentelemetry.io/otel/trace.F":       false,
		"go.etcd.io/bbolt.(*DB).Update":          false,
		"internal.corp/x.F":                      false,
		"sync.corp/locks.(*Pool).Get":            false,
		"net.example/http.Serve":                 false,
		"":                                       false,
	} {
		if got := InStandardLibrary(name); got != want {
			t.Errorf("InStandardLibrary(%q) = %v", name, got)
		}
	}
}

// TestSiteOfProgram: whatever a program's import path begins with, its functions are its own.
func TestSiteOfProgram(t *testing.T) {
	for _, path := range []string{
		"go.uber.org/zap", "go.opentelemetry.io/otel/trace", "go.etcd.io/bbolt",
		"internal.corp/x", "sync.corp/x", "example.com/x",
	} {
		frames := framesOf(t, "sync.(*Mutex).Lock GOROOT/sync/mutex.go:46\nio.Copy GOROOT/io/io.go:388\n"+
			path+".(*T).Flush /src/x.go:7\nmain.handle /src/main.go:9\n"+
			"net/http.(*conn).serve GOROOT/net/http/server.go:2073")
		place, _ := placeOf(frames, handlerOf(frames))
		if want := path[strings.LastIndexByte(path, '/')+1:] + ".(*T).Flush (x.go:7)"; place.site != want ||
			place.owner != ownerProgram {
			t.Errorf("%s: %+v, want %s", path, place, want)
		}
	}
}
