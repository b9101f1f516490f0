package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/gcgate"
)

// ErrLastServer is in the errors of [RuntimeAPI] if no other server can take requests. Other errors
// are fs.ErrPermission (the socket is not at level admin), fs.ErrNotExist (no such backend or
// server) and those of package net.
var (
	errNotConfirmed = errors.New("not confirmed")

	ErrLastServer = errors.New("no other server is up")

	// This process listens at the address of another server.
	errOtherServer = errors.New("the server is another process")
)

const (
	answerTimeout     = 5 * time.Second // unless ctx ends earlier
	unansweredTimeout = time.Minute     // of a command whose caller has left
	maxAnswerBytes    = 1 << 20         // about 8,000 servers
	maxLooks          = 10              // a process may listen after its gate has started

	setCommand = "set server "
)

// RuntimeAPI is a [gcgate.Signal] for one server of one backend, over HAProxy's runtime API ("stats
// socket ... level admin", deploy/haproxy/runtime-api.cfg). Several HAProxy processes, or backends,
// are several signals.
//
// Ready ends any drain. To take a server out, write "set server B/S state maint", which no method
// touches. The gates of other replicas put back a server whose process was killed while drained
// ([RuntimeAPI.Watch]).
//
// Drain fails with [ErrLastServer] if no other server is up. You need Turns nevertheless, because
// two replicas that drain within a millisecond see each other too late.
//
// After a reload (SIGUSR2) the new worker has this server ready, and the gate repeats Drain within
// 100 ms. Without master-worker mode that needs "expose-fd listeners" in the socket's line, and -x.
//
// Do not change the fields once the signal is in use. Any goroutine may call its methods, which
// take 5 s at most.
type RuntimeAPI struct {
	// Addr is the stats socket's address: "127.0.0.1:9199", "unix:/run/haproxy.sock" or
	// "/run/haproxy.sock".
	Addr string

	// Backend and Server are the names in the configuration.
	Backend, Server string

	// MendAfter is for how long another server must have been drained to be put back, in addition
	// to what this gate expects of its own collection. Raise it if other replicas take longer, or
	// may stall past their lease. Default: 0, which is 2.5 s. Limit: 1 h.
	MendAfter time.Duration

	mu    sync.Mutex // guards what follows
	looks int        // that have not found another process

	// Of commands whose callers have left. Each is closed at the answer's end.
	unanswered []chan struct{}
}

// ParseRuntimeAPI reads ADDR,BACKEND/SERVER, as in "127.0.0.1:9199,be/a".
func ParseRuntimeAPI(s string) (*RuntimeAPI, error) {
	i := strings.LastIndexByte(s, ',')
	backend, server, ok := strings.Cut(s[i+1:], "/")
	if i < 0 || !ok {
		return nil, fmt.Errorf("haproxy: %q: write ADDR,BACKEND/SERVER, for example 127.0.0.1:9199,be/a", s)
	}
	h := &RuntimeAPI{Addr: s[:i], Backend: backend, Server: server}
	if err := h.Validate(); err != nil {
		return nil, err
	}
	return h, nil
}

// Drain takes the server out and confirms it, unless it is drained already or in maintenance.
func (h *RuntimeAPI) Drain(ctx context.Context, _ time.Duration) error {
	servers, me, err := h.look(ctx, "")
	if err != nil {
		return unreached{err}
	}
	if me.inMaint() {
		return nil
	}
	if err := h.refuseOther(servers); err != nil {
		return err
	}
	if !me.isDrained() && !isLast(servers, h.Server) {
		servers, me, err = h.look(ctx, h.set(h.Server, "drain"))
		if err != nil {
			return err
		}
		if !me.isDrained() {
			return h.errorf("%w: the server's admin state is %#x after \"state drain\": is something else setting it?",
				errNotConfirmed, me.admin)
		}
	}
	if isLast(servers, h.Server) {
		return h.last(ctx, me, "not drained, else every request would get 503: bring another server of the backend up")
	}
	return nil
}

// refuseOther fails if the server is another process. It looks until that is known, but not more
// than maxLooks times, because a look at 5,000 descriptors takes 4 ms.
func (h *RuntimeAPI) refuseOther(servers []server) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looks >= maxLooks {
		return nil
	}
	named, other := listensAt(servers, h.Server)
	if other != "" {
		return unreached{h.errorf("%w: this process listens at the address of server %s: name that one, "+
			"or each of the two replicas drains the other", errOtherServer, other)}
	}
	if h.looks++; named {
		h.looks = maxLooks
	}
	return nil
}

// Ready puts the server back and confirms it, unless it is not drained, or in maintenance.
func (h *RuntimeAPI) Ready(ctx context.Context) error {
	_, me, err := h.look(ctx, "")
	if err != nil || me.inMaint() || !me.isDrained() {
		return err
	}
	return h.putBack(ctx, h.Server)
}

// Check verifies that HAProxy is there, lets this process change the server, and has another one in
// the backend. It puts this server back if it is drained and the last one.
func (h *RuntimeAPI) Check(ctx context.Context) error {
	answer, err := h.ask(ctx, "show cli level; show servers state "+h.Backend)
	if err != nil {
		return err
	}
	level, _, _ := strings.Cut(answer, "\n")
	if level != "admin" {
		return h.permissionError()
	}
	servers, me, err := h.read(answer)
	if err == nil {
		err = h.refuseOther(servers)
	}
	switch {
	case err != nil:
		return err
	case isLast(servers, h.Server):
		return h.last(ctx, me,
			"a drain would give 503, so collections will not be announced: add a second server to the backend")
	case me.inMaint():
		return h.errorf("the server is in maintenance, and will be left so: \"set server %s/%s "+
			"state ready\" puts it back",
			h.Backend, h.Server)
	}
	return nil
}

// String returns "HAProxy BACKEND/SERVER at ADDR".
func (h *RuntimeAPI) String() string {
	return "HAProxy " + h.Backend + "/" + h.Server + " at " + h.Addr
}

// WhyIgnored implements [gcgate.Explainer].
func (h *RuntimeAPI) WhyIgnored() string { return sticky }

// A drained server gets these requests (management.txt, "set server", state drain).
const sticky = "requests that stick to this server (a cookie, a stick-table), which HAProxy sends to a drained one " +
	"too: leave persistence out; or another HAProxy, which needs a signal of its own"

// look runs a command of [RuntimeAPI.set], if any, and returns the servers after that. me is this
// process.
func (h *RuntimeAPI) look(ctx context.Context, command string) (servers []server, me server, err error) {
	answer, err := h.ask(ctx, command+"show servers state "+h.Backend)
	if err != nil {
		return nil, me, err
	}
	return h.read(answer)
}

func (h *RuntimeAPI) set(server, state string) string {
	return setCommand + h.Backend + "/" + server + " state " + state + "; "
}

func (h *RuntimeAPI) read(answer string) (servers []server, me server, err error) {
	servers, parseErr := parseServers(answer, h.Backend)
	for _, s := range servers {
		if s.name == h.Server {
			me = s
		}
	}
	// A refusal comes before the table.
	said, _, _ := strings.Cut(answer, "# be_id")
	switch {
	case strings.Contains(said, "Permission denied"):
		return nil, me, h.permissionError()
	case strings.Contains(said, "No such backend"), strings.Contains(said, "Can't find backend"):
		return nil, me, h.errorf("%w: no such backend: write its name as in the configuration, after \"backend\"",
			fs.ErrNotExist)
	case parseErr != nil:
		return nil, me, h.errorf("%w: HAProxy answered %.100q: %w", errNotConfirmed, strings.TrimSpace(said), parseErr)
	case me.name == "":
		return nil, me,
			h.errorf("%w: no such server in this backend: write its name as in the configuration, after \"server\"",
				fs.ErrNotExist)
	}
	return servers, me, nil
}

func (h *RuntimeAPI) permissionError() error {
	const fix = `write "level admin" in the stats socket's line of the configuration`
	return unreached{h.errorf("%w: %s", fs.ErrPermission, fix)}
}

// unreached is [gcgate.ErrUnreached]. HAProxy cannot have carried out the command.
type unreached struct{ error }

func (u unreached) Unwrap() error { return u.error }

func (u unreached) Is(target error) bool { return target == gcgate.ErrUnreached }

func (h *RuntimeAPI) last(ctx context.Context, me server, text string) (err error) {
	if me.isDrained() {
		_, _, err = h.look(ctx, h.set(h.Server, "ready"))
	}
	return errors.Join(h.errorf("%w: %s", ErrLastServer, text), err)
}

// ask sends one line of commands and returns the answer. A stopped HAProxy may carry out an old
// command later, so the next question waits for its answer first.
func (h *RuntimeAPI) ask(ctx context.Context, commands string) (string, error) {
	if err := h.Validate(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if !h.settled(ctx) {
		return "", h.errorf("no answer yet to what was asked before: %w: is HAProxy stopped?", ctx.Err())
	}
	network, addr := h.split()
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return "", unreached{h.errorf("cannot connect: %w: "+
			"is HAProxy running, with a stats socket there that this user may open?", err)}
	}
	_ = conn.SetDeadline(time.Now().Add(unansweredTimeout))
	var answer []byte // with err: valid once ended is closed
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer conn.Close()
		if _, err = io.WriteString(conn, commands+"\n"); err == nil {
			answer, err = io.ReadAll(io.LimitReader(conn, maxAnswerBytes+1))
		}
		if c, ok := conn.(*net.TCPConn); ok && err != nil {
			_ = c.SetLinger(0) // unsent commands must not come after the next one
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		if strings.HasPrefix(commands, setCommand) {
			h.mu.Lock()
			h.unanswered = append(h.unanswered, ended)
			h.mu.Unlock()
		} else {
			conn.Close()
			<-ended
		}
		return "", h.errorf("no answer in time: %w: is that HAProxy's stats socket?", ctx.Err())
	}
	switch {
	case err != nil:
		return "", h.errorf("cannot ask: %w: is that HAProxy's stats socket, and is HAProxy staying up?", err)
	case len(answer) > maxAnswerBytes:
		return "", h.errorf("the answer is longer than %d bytes: is that HAProxy's stats socket? "+
			"Else split the backend",
			maxAnswerBytes)
	}
	return string(answer), nil
}

func (h *RuntimeAPI) settled(ctx context.Context) bool {
	h.mu.Lock()
	waited := h.unanswered
	h.mu.Unlock()
	for _, ended := range waited {
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unanswered = slices.DeleteFunc(h.unanswered,
		func(ended chan struct{}) bool { return slices.Contains(waited, ended) })
	return true
}

func (h *RuntimeAPI) split() (network, addr string) {
	if path, ok := strings.CutPrefix(h.Addr, "unix:"); ok {
		return "unix", path
	}
	if strings.HasPrefix(h.Addr, "/") {
		return "unix", h.Addr
	}
	return "tcp", h.Addr
}

// Validate implements [gcgate.Validator]. It keeps all but names off the command line
// (configuration.txt, section 2.1).
func (h *RuntimeAPI) Validate() error {
	for _, name := range [...]string{h.Backend, h.Server} {
		if name == "" || strings.Trim(name, nameChars) != "" || len(name) > 255 {
			return fmt.Errorf("haproxy: %.100q is not a name of a backend or server: write letters, "+
				"digits, \"-\", \"_\", \".\" and \":\", at most 255", name)
		}
	}
	if h.MendAfter < 0 || h.MendAfter > mendLimit {
		return fmt.Errorf("haproxy: RuntimeAPI.MendAfter: %v is out of range: use up to %v, or 0 for %v",
			h.MendAfter, mendLimit, mendAfter)
	}
	network, addr := h.split()
	if network == "tcp" {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" || strings.Contains(addr, "@") {
			return fmt.Errorf("haproxy: %.100q is not the address of a stats socket: write 127.0.0.1:9199 or "+
				"unix:/run/haproxy.sock",
				h.Addr)
		}
	} else if addr == "" {
		return fmt.Errorf("haproxy: %q has no path: write unix:/run/haproxy.sock", h.Addr)
	}
	return nil
}

func (h *RuntimeAPI) errorf(format string, args ...any) error {
	return fmt.Errorf("haproxy: %s/%s at %s: %w", h.Backend, h.Server, h.Addr, fmt.Errorf(format, args...))
}
