package reqtrace

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/testutil"
)

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
	for _, path := range []string{"go.uber.org/zap", "go.opentelemetry.io/otel/trace", "go.etcd.io/bbolt", "internal.corp/x", "sync.corp/x", "example.com/x"} {
		frames := framesOf(t, "sync.(*Mutex).Lock GOROOT/sync/mutex.go:46\nio.Copy GOROOT/io/io.go:388\n"+
			path+".(*T).Flush /src/x.go:7\nmain.handle /src/main.go:9\nnet/http.(*conn).serve GOROOT/net/http/server.go:2073")
		place, _ := placeOf(frames, handlerOf(frames))
		if want := path[strings.LastIndexByte(path, '/')+1:] + ".(*T).Flush (x.go:7)"; place.site != want || place.owner != ownerProgram {
			t.Errorf("%s: %+v, want %s", path, place, want)
		}
	}
}
