package raftgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"
)

// Bounds of the exchange over HTTP.
const (
	maxMessage  = 4 << 10 // bytes of a question or an answer
	idleConns   = 4       // to one member
	idleTimeout = 10 * time.Minute
)

// AskHTTP returns an [Options].Ask that posts to the URL at which a member's [Member] is served. A
// nil client means a new one.
func AskHTTP(
	client *http.Client, url func(member string) string,
) func(context.Context, string, []byte) ([]byte, error) {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTimeout}}
	}
	return func(ctx context.Context, member string, question []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url(member), bytes.NewReader(question))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w: %w", ErrGone, err)
		}
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("raftgate: %s answers %s: serve its Member there", url(member), resp.Status)
		}
		return answer, err
	}
}

// ServeHTTP answers the questions of [AskHTTP]. Serve it where only members can reach it, because a
// question can have this process collect.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "members ask here, by POST", http.StatusMethodNotAllowed)
		return
	}
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var answer []byte
	if err == nil {
		answer, err = m.Answer(question)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}
