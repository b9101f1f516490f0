package tidy

// arrow is a row of the table: the packages at dir and what they may import besides std.
//
// A dir or an import that ends in "/..." stands for itself and all below it. An import whose
// first element has no dot is a package of this repository. In nested modules, anyPublic and
// anyThird stand for whole classes of imports.
type arrow struct {
	dir string
	may []string
}

const (
	anyPublic = "(public)" // every package of the root module that others can import
	anyThird  = "(third)"  // every module of others, except [onlyInSys]
)

// arrows says who may import whom. The first row that covers a package decides; a package
// in no row is a finding. ARCHITECTURE.md draws the same arrows.
var arrows = []arrow{
	{".", nil},

	// Commands.
	{"cmd/evenkeel", []string{
		"cmd/evenkeel/internal/page", "cmd/evenkeel/internal/perfetto", "cmd/evenkeel/internal/compare", "cmd/evenkeel/internal/exchange", "cmd/evenkeel/internal/runfile", "internal/textfmt", "cmd/evenkeel/internal/proc", "internal/listeners", "internal/cpuwatch",
		"loadgen", "gctrace", "reqtrace", "reqtrace/verdict", "reqtrace/history", "reqtrace/recorder", "tailstat", "gcgate/capacity", "gcgate/client", "github.com/google/pprof/profile",
		"golang.org/x/sys/unix", // the terminal's width
	}},
	{"cmd/fastcgen", []string{
		"cmd/fastcgen/internal/initial", "cmd/fastcgen/internal/generate", "cmd/fastcgen/internal/emit", "cmd/fastcgen/internal/decl",
	}},
	{"cmd/fastcgen/internal/initial", []string{
		"cmd/fastcgen/internal/decl", "cmd/fastcgen/internal/cc", "cmd/fastcgen/internal/match",
		"cmd/fastcgen/internal/emit", "cmd/fastcgen/internal/reach", "cmd/fastcgen/internal/generate",
	}},
	{"cmd/fastcgen/internal/generate", []string{
		"cmd/fastcgen/internal/decl", "cmd/fastcgen/internal/cc", "cmd/fastcgen/internal/match",
		"cmd/fastcgen/internal/emit", "cmd/fastcgen/internal/reach",
	}},
	{"cmd/fastcgen/internal/emit", []string{"cmd/fastcgen/internal/match", "cmd/fastcgen/internal/cc", "cmd/fastcgen/internal/decl"}},
	{"cmd/fastcgen/internal/match", []string{"cmd/fastcgen/internal/cc", "cmd/fastcgen/internal/decl"}},
	{"cmd/fastcgen/internal/reach", []string{"cmd/fastcgen/internal/cc", "cmd/fastcgen/internal/decl"}},
	{"cmd/fastcgen/internal/cc", []string{"cmd/fastcgen/internal/decl"}},
	{"cmd/fastcgen/internal/decl/...", nil},

	// Online.
	{"aio", []string{"internal/enum", "aio/internal/proactor", "aio/internal/uring", "aio/internal/poller", "aio/internal/sys"}}, // sys: options of listening sockets
	{"aio/gaio", []string{"aio", "aio/internal/sys"}},         // sys: the CPU of a thread
	{"aio/aiotest", []string{"aio", "aio/internal/aiosuite"}}, // the network in memory
	{"aio/netconn", []string{"aio", "aio/internal/proactor"}}, // proactor: the mark of a caller that waits
	{"httpd", []string{"aio"}},
	{"gcgate", []string{"gcgate/capacity", "internal/enum"}},
	{"gcgate/capacity", []string{"internal/enum"}}, // formulas only
	{"gcgate/polled", []string{"gcgate", "internal/enum"}},
	{"gcgate/gcgatetest", []string{"gcgate"}}, // only its example: tests in gcgate import it
	{"gcgate/turntest", []string{"gcgate"}},
	{"gcgate/client", nil},                                                                        // no collector control in a client
	{"gcgate/httpgate", []string{"gcgate", "gcgate/client", "gcgate/polled", "internal/cputime"}}, // cputime: a plan's, on the status page
	{"gcgate/haproxy", []string{"gcgate", "gcgate/polled", "internal/listeners"}},                 // listeners: which server this process is
	{"gcgate/health", []string{"gcgate", "gcgate/polled"}},
	{"fastc", nil},
	{"fastc/internal/leaf", nil},

	// Offline; gctrace and reqtrace meet only below cmd/evenkeel/internal/page.
	{"gctrace", nil},
	{"reqtrace", []string{"internal/enum", "reqtrace/region", "golang.org/x/exp/trace"}},
	{"reqtrace/region", nil},
	{"reqtrace/verdict", []string{"reqtrace", "internal/cpuwatch", "internal/textfmt"}},
	{"reqtrace/history", []string{"reqtrace", "reqtrace/verdict", "internal/chart", "internal/textfmt"}}, // it lives in services: nothing heavier
	{"reqtrace/recorder", []string{
		"reqtrace", "reqtrace/region", "reqtrace/history", "internal/cputime", "internal/cpuwatch", "internal/textfmt", // it lives in services: nothing heavier
	}},
	{"loadgen", []string{"internal/enum", "github.com/HdrHistogram/hdrhistogram-go", "golang.org/x/net/http2", "golang.org/x/net/http2/hpack"}},
	{"tailstat", []string{"internal/enum"}},

	// Inside.
	{"cmd/evenkeel/internal/page", []string{
		"internal/chart", "cmd/evenkeel/internal/compare", "cmd/evenkeel/internal/runfile", "internal/textfmt",
		"loadgen", "reqtrace", "reqtrace/verdict", "tailstat",
	}},
	{"cmd/evenkeel/internal/compare", []string{"cmd/evenkeel/internal/runfile", "internal/textfmt", "loadgen", "gctrace", "tailstat"}},
	{"cmd/evenkeel/internal/perfetto", []string{"internal/textfmt", "reqtrace", "reqtrace/verdict"}},
	{"cmd/evenkeel/internal/exchange", []string{"cmd/evenkeel/internal/runfile", "loadgen", "github.com/HdrHistogram/hdrhistogram-go"}},
	{"cmd/evenkeel/internal/runfile", []string{"internal/textfmt", "loadgen", "gctrace"}},
	{"internal/chart", nil},
	{"internal/enum", nil},
	{"internal/textfmt", nil},
	{"internal/listeners", nil},
	{"cmd/evenkeel/internal/proc", nil},
	{"internal/cpuwatch", []string{"reqtrace"}},
	{"internal/cputime", nil},
	{"aio/internal/proactor", nil},
	{"aio/internal/uring", []string{"aio/internal/poller", "aio/internal/proactor", "aio/internal/sys"}},
	{"aio/internal/poller", []string{"aio/internal/proactor", "aio/internal/sys"}},
	{"aio/internal/sys", []string{onlyInSys}},
	{"aio/internal/sys/refuse", []string{onlyInSys}},
	{"aio/internal/aiosuite", []string{"aio", "internal/leaks", "internal/testutil", "aio/internal/proactor", "aio/internal/sys"}}, // sys: whether a message has come
	{"internal/leaks", []string{"go.uber.org/goleak"}},
	{"internal/golden", []string{"github.com/google/go-cmp/cmp"}},
	{"internal/metricsuite", []string{"gcgate", "reqtrace", "reqtrace/history", "reqtrace/recorder"}},
	{"internal/turnsuite", []string{"gcgate", "gcgate/gcgatetest", "gcgate/turntest", "internal/leaks"}},
	{"internal/race", nil},
	{"internal/testutil", nil},
	{"internal/tidy/...", nil},

	// Nested modules.
	{"contrib/prometheus/internal/promtest", []string{"internal/metricsuite", anyThird}}, // for tests
	{"contrib/otel/internal/oteltest", []string{"internal/metricsuite", anyThird}},       // for tests
	{"contrib/...", []string{anyPublic, "contrib/...", anyThird}},
	{"examples/internal/program", []string{"examples/child", "internal/race"}}, // for tests
	{"examples/...", []string{anyPublic, "contrib/...", "examples/...", anyThird}},
	{"bench/...", []string{anyPublic, "contrib/...", "bench/...", "examples/...", anyThird}}, // one workload, in examples
	{"e2e/...", []string{anyPublic, "contrib/...", "e2e/...", "examples/child", anyThird}},   // the one starter
	{"tools/...", []string{"tools/...", "tailstat", "golang.org/x/mod/...", "golang.org/x/tools/go/packages"}},
}

// onlyInSys is what aio/internal/sys alone may import, in every module.
const onlyInSys = "golang.org/x/sys/..."

// testArrows is what a test file may import besides: the usual helpers. It may also import its
// own package and the helpers in its own testdata.
var testArrows = []string{
	"github.com/google/go-cmp/cmp/...",
	"go.uber.org/goleak",
	"golang.org/x/net/nettest",          // what any net.Conn does
	module + "/aio/netconn",             // over a kqueue whose kernel is in aio's tests
	module + "/aio/internal/aiosuite",   // the suite that a backend's own test runs
	module + "/internal/leaks",          // what a TestMain calls
	module + "/internal/metricsuite",    // the suite of exporters
	module + "/aio/internal/sys/refuse", // system calls that the kernel shall refuse
	module + "/internal/golden",         // files of testdata that tests write
	module + "/internal/testutil",       // an address of this process alone
	module + "/internal/race",           // how tests build other programs
	module + "/fastc/internal/leaf",     // C for fastc's tests: they may not hold any
	module + "/gcgate/gcgatetest",       // a collector that is none
	module + "/gcgate/turntest",         // the suite of turns
	module + "/internal/turnsuite",      // the suite of turns by leases
	module + "/gcgate/haproxy",          // the model of a balancer, with health
	module + "/gcgate/httpgate",
	module + "/cmd/fastcgen/internal/decl/decltest", // what a declaration file may not say, for the page of messages too
}
