package kv

import (
	"context"
	"encoding/json"
	"sync"
)

// A command is one write. Its number has it applied once if it is sent again.
type command struct {
	Client string `json:"c"`
	Seq    uint64 `json:"s"` // from 1
	Key    string `json:"k"`
	Value  string `json:"v"`
}

type state struct {
	Values map[string]string `json:"values"`
	Last   map[string]uint64 `json:"last"` // the last write of each client
}

// store is the state machine. Any goroutine may call its methods.
type store struct {
	mu      sync.Mutex
	state   state                    // guarded by mu
	waiting map[string]chan struct{} // of a client, closed when a write of its is applied; guarded by mu
}

func newStore() *store {
	return &store{
		state:   state{Values: map[string]string{}, Last: map[string]uint64{}},
		waiting: map[string]chan struct{}{},
	}
}

func (s *store) apply(data []byte) error {
	var c command
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Seq > s.state.Last[c.Client] {
		s.state.Last[c.Client] = c.Seq
		s.state.Values[c.Key] = c.Value
	}
	if w := s.waiting[c.Client]; w != nil {
		close(w)
		delete(s.waiting, c.Client)
	}
	return nil
}

// await returns when a client's write is applied.
func (s *store) await(ctx context.Context, client string, seq uint64) error {
	for {
		s.mu.Lock()
		if s.state.Last[client] >= seq {
			s.mu.Unlock()
			return nil
		}
		w := s.waiting[client]
		if w == nil {
			w = make(chan struct{})
			s.waiting[client] = w
		}
		s.mu.Unlock()
		select {
		case <-w:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *store) get(key string) (value string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.state.Values[key]
	return value, ok
}

func (s *store) marshal() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(s.state)
}

func (s *store) unmarshal(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Unmarshal(data, &s.state)
}
