//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/examples/child"
)

// warmUp is how many connections come before the first measurement: what the first one makes for all is in it.
const warmUp = 10

// certificate makes one for this run.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "tlsecho"},
		DNSNames:     []string{"tlsecho"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// measure has a process of its own open the connections, and says what one of them holds here.
func (v *service) measure(ctx context.Context, addr string, own *x509.Certificate) error {
	few, err := v.clients(ctx, addr, own, warmUp)
	if err != nil {
		return err
	}
	defer few.Kill()
	before := hold()
	many, err := v.clients(ctx, addr, own, v.settings.n)
	if err != nil {
		return err
	}
	defer many.Kill()
	after := hold()
	each := func(a, b uint64) int64 { return (int64(b) - int64(a)) / int64(v.settings.n) }
	v.log.Info("idle", "connections", v.settings.n, "goroutines", runtime.NumGoroutine(),
		"rss_bytes_each", each(before.rss, after.rss), "heap_bytes_each", each(before.heap, after.heap),
		"stack_bytes_each", each(before.stack, after.stack))
	return nil
}

// memory is what this process holds, in bytes, when the collector has done its work.
type memory struct{ rss, heap, stack uint64 }

func hold() memory {
	runtime.GC() // a sync.Pool keeps what it has for one more
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{rss: resident(), heap: m.HeapAlloc, stack: m.StackInuse}
}

// resident is VmRSS of proc(5); 0 where there is none.
func resident() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseUint(fields[0], 10, 64)
	return kilobytes << 10
}

var ready = regexp.MustCompile(`^(ready)$`)

// clients starts the process that opens n connections, and returns when each has had its echo.
func (v *service) clients(ctx context.Context, addr string, own *x509.Certificate, n int) (*child.Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return child.Start(ctx, child.Options{
		Args:         []string{program, "-addr", addr, "-n", strconv.Itoa(n), "-load", base64.StdEncoding.EncodeToString(own.Raw)},
		Ready:        ready,
		ReadyTimeout: 10 * time.Minute,
	})
}
