package k8sturn_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// server is the part of a kube-apiserver that serves Leases: optimistic concurrency, merge patches
// and the validation of a Lease. e2e/apiserver has a real one, which
// does not fail on demand. e2e/kubernetes decodes what is sent as the types of the API.
type server struct {
	url  string
	http *httptest.Server
	port *port // nil: no address

	mu              sync.Mutex
	moves           *sync.Cond
	version         int                       // of the last change; guarded by mu
	objects         map[string]map[string]any // by name; guarded by mu
	requests        bool                      // held back; guarded by mu
	answers         bool                      // held back; guarded by mu
	drops           int                       // connections to end instead of an answer; guarded by mu
	counts          map[string]int            // by method; guarded by mu
	arrived, served int                       // requests, which are carried out in order
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

func serverWithoutNet() *server {
	s := &server{url: "http://server", version: 100, objects: map[string]map[string]any{}, counts: map[string]int{}}
	s.moves = sync.NewCond(&s.mu)
	return s
}

func newServer(t testing.TB) *server {
	s := serverWithoutNet()
	s.port = newPort(t)
	s.up()
	t.Cleanup(s.down)
	return s
}

func (s *server) up() {
	s.http = &httptest.Server{Listener: s.port.open(), Config: &http.Server{Handler: s}}
	s.http.Start()
	s.url = s.http.URL
}

// down ends it as a crash does, with its data kept.
func (s *server) down() {
	s.set(func() { s.requests, s.answers = false, false })
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.moves.Broadcast()
}

// hold holds back requests or answers. A request that was held back is carried out later.
func (s *server) hold(requests, answers bool) {
	s.set(func() { s.requests, s.answers = requests, answers })
}

func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[r.Method]++
	turn := s.arrived
	s.arrived++
	for s.requests || s.served != turn {
		s.moves.Wait()
	}
	code, answer := s.serve(r, body)
	s.served++
	s.moves.Broadcast()
	for s.answers {
		s.moves.Wait()
	}
	if s.drops > 0 {
		s.drops--
		panic(http.ErrAbortHandler)
	}
	if code >= http.StatusBadRequest {
		answer = map[string]any{
			"kind": "Status", "status": "Failure", "code": code, "reason": http.StatusText(code),
			"message": answer,
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(answer)
}

func (s *server) serve(r *http.Request, body []byte) (code int, answer any) {
	if !strings.HasPrefix(r.URL.Path, leases) {
		return http.StatusForbidden, "leases in another namespace"
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, leases), "/")
	in := map[string]any{}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil {
		return http.StatusBadRequest, "no JSON"
	}
	old, exists := s.objects[name]
	switch {
	case r.Method == http.MethodPost && name == "":
		if in["kind"] != "Lease" || in["apiVersion"] != "coordination.k8s.io/v1" {
			return http.StatusBadRequest, "the object must be a Lease"
		}
		name, _ = in["metadata"].(map[string]any)["name"].(string)
		if _, exists := s.objects[name]; exists {
			return http.StatusConflict, name + " exists"
		}
		return s.store(http.StatusCreated, name, in)
	case !exists:
		return http.StatusNotFound, name + " not found"
	case r.Method == http.MethodGet:
		return http.StatusOK, old
	case r.Method == http.MethodPatch:
		if r.Header.Get("Content-Type") != "application/merge-patch+json" {
			return http.StatusUnsupportedMediaType, "no merge patch"
		}
		if v, ok := in["metadata"].(map[string]any)["resourceVersion"]; ok &&
			v != old["metadata"].(map[string]any)["resourceVersion"] {
			return http.StatusConflict, "the object has been modified"
		}
		return s.store(http.StatusOK, name, merge(old, in).(map[string]any))
	}
	return http.StatusMethodNotAllowed, r.Method
}

// merge is RFC 7396.
func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	t = maps.Clone(t)
	if t == nil {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = merge(t[k], v)
		}
	}
	return t
}

var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	microTime  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`)
)

// store keeps an object that is valid. mu is held.
func (s *server) store(code int, name string, o map[string]any) (_ int, answer any) {
	spec, _ := o["spec"].(map[string]any)
	for field, v := range spec {
		var valid bool
		switch field {
		case "holderIdentity":
			_, valid = v.(string)
		case "leaseDurationSeconds":
			n, _ := v.(float64)
			valid = n > 0 && n == float64(int32(n))
		case "leaseTransitions":
			n, _ := v.(float64)
			valid = n >= 0 && n == float64(int32(n))
		case "acquireTime", "renewTime":
			text, _ := v.(string)
			valid = microTime.MatchString(text)
		default:
			valid = false
		}
		if !valid {
			return http.StatusUnprocessableEntity, fmt.Sprintf("spec.%s: Invalid value: %v", field, v)
		}
	}
	if !objectName.MatchString(name) || len(name) > 253 {
		return http.StatusUnprocessableEntity, "metadata.name: Invalid value: " + name
	}
	labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	for key, v := range labels {
		if text, ok := v.(string); !ok || len(text) > 63 {
			return http.StatusUnprocessableEntity, fmt.Sprintf("metadata.labels: Invalid value: %s=%v", key, v)
		}
	}
	s.version++
	metadata := map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	s.objects[name] = merge(o, map[string]any{"metadata": metadata}).(map[string]any)
	return code, s.objects[name]
}

func (s *server) remove(name string) { s.set(func() { delete(s.objects, name) }) }

func (s *server) change(t testing.TB, name string, patch map[string]any) {
	t.Helper()
	s.set(func() {
		if code, answer := s.store(http.StatusOK, name,
			merge(s.objects[name], patch).(map[string]any)); code != http.StatusOK {
			t.Errorf("%d: %v", code, answer)
		}
	})
}

func (s *server) spec(name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, _ := s.objects[name]["spec"].(map[string]any)
	return spec
}

// port belongs to this process until the test ends, so that no other process takes it while its
// server is down.
type port struct {
	net.Listener

	mu   sync.Mutex
	door *door // where connections go; nil: nowhere; guarded by mu
}

func newPort(t testing.TB) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &port{Listener: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.pass(c)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return p
}

func (p *port) pass(c net.Conn) {
	p.mu.Lock()
	d := p.door
	p.mu.Unlock()
	if d == nil {
		c.Close()
		return
	}
	select {
	case d.conns <- c:
	case <-d.closed:
		c.Close()
	}
}

func (p *port) open() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.door = &door{port: p, conns: make(chan net.Conn), closed: make(chan struct{})}
	return p.door
}

// door is a listener whose end leaves the port.
type door struct {
	port   *port
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (d *door) Addr() net.Addr { return d.port.Addr() }

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() {
		d.port.mu.Lock()
		d.port.door = nil
		d.port.mu.Unlock()
		close(d.closed)
	})
	return nil
}
