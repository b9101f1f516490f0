package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const attemptTimeout = time.Second

// Group is the members as clients see them. Any goroutine may call its methods.
type Group struct {
	Members []string // base URLs
	HTTP    *http.Client

	AttemptTimeout time.Duration // of one attempt to write; 0: 1 s

	Retried atomic.Uint64 // sent again because the outcome was not known

	leader atomic.Int64 // index
}

// Client writes, one after the other. One goroutine owns it.
type Client struct {
	Group *Group
	ID    string // unique
	seq   uint64
}

// Put returns when the write was made, or when ctx ends.
func (c *Client) Put(ctx context.Context, key, value string) error {
	c.seq++
	g := c.Group
	for {
		at := g.leader.Load()
		leader, err := c.attempt(ctx, g.Members[at], key, value)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s=%s: %w", key, value, err)
		}
		next := (at + 1) % int64(len(g.Members))
		if leader == "" {
			g.Retried.Add(1)
		} else if i := slices.Index(g.Members, leader); i >= 0 {
			next = int64(i)
		}
		g.leader.CompareAndSwap(at, next)
	}
}

// attempt sends the write once. It returns the leader's URL if the member does not lead.
func (c *Client) attempt(ctx context.Context, member, key, value string) (leader string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Group.AttemptTimeout, attemptTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, member+"/kv/"+key, strings.NewReader(value))
	if err != nil {
		return "", err
	}
	req.Header.Set(headerClient, c.ID)
	req.Header.Set(headerSeq, strconv.FormatUint(c.seq, 10))
	resp, err := c.Group.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if resp.StatusCode == http.StatusNoContent {
		return "", nil
	}
	return resp.Header.Get(headerLeader), fmt.Errorf("%s: %s: %s", member, resp.Status, strings.TrimSpace(string(text)))
}

const (
	headerClient = "Kv-Client"
	headerSeq    = "Kv-Seq"
	headerLeader = "Kv-Leader" // the leader's URL, in an answer 421
)

const maxValue = 64 << 10

// Handler serves PUT /kv/KEY with the value as its body, and GET /kv/KEY for the value as this
// member knows it. A member that does not lead answers a write with 421 and the leader's URL.
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /kv/{key}", n.put)
	mux.HandleFunc("GET /kv/{key}", n.get)
	return mux
}

func (n *Node) put(w http.ResponseWriter, r *http.Request) {
	value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValue))
	seq, serr := strconv.ParseUint(r.Header.Get(headerSeq), 10, 64)
	client := r.Header.Get(headerClient)
	if err = errors.Join(err, serr); err != nil || client == "" {
		http.Error(w, fmt.Sprintf("a write needs %s, %s and a value up to %d bytes: %v", headerClient, headerSeq,
			maxValue, err), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	err = n.write(ctx, command{Client: client, Seq: seq, Key: r.PathValue("key"), Value: string(value)})
	var other elsewhere
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &other):
		w.Header().Set(headerLeader, n.config.Members[other.leader-1])
		http.Error(w, err.Error(), http.StatusMisdirectedRequest)
	default:
		http.Error(w, "not known to be written: "+err.Error(), http.StatusServiceUnavailable)
	}
}

func (n *Node) get(w http.ResponseWriter, r *http.Request) {
	value, ok := n.store.get(r.PathValue("key"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, value)
}
