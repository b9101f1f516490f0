package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// What a write carries beside its key and value, and what an answer says.
const (
	headerClient = "Kv-Client" // who writes
	headerSeq    = "Kv-Seq"    // its number, from 1
	headerLeader = "Kv-Leader" // whom to ask, in an answer 421
)

// maxValue is the longest value, in bytes.
const maxValue = 64 << 10

// Handler serves the store: PUT /kv/KEY with the value as its body, GET /kv/KEY for the value as
// this member knows it. A write to a member that does not lead is answered 421 with the leader's
// URL.
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
	data, err := json.Marshal(command{Client: client, Seq: seq, Key: r.PathValue("key"), Value: string(value)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	err = n.write(ctx, data, request{client, seq})
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
