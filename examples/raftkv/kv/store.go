package kv

import (
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

type request struct {
	client string
	seq    uint64
}

type state struct {
	Values map[string]string `json:"values"`
	Last   map[string]uint64 `json:"last"` // the last write of each client
}

// store is the state machine. Any goroutine may call its methods.
type store struct {
	mu      sync.Mutex
	state   state                // guarded by mu
	waiting map[request]*waiting // guarded by mu
}

// waiting is for a write, which may be sent again before the first attempt has ended.
type waiting struct {
	done     chan struct{}
	attempts int
}

func newStore() *store {
	return &store{
		state:   state{Values: map[string]string{}, Last: map[string]uint64{}},
		waiting: map[request]*waiting{},
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
	r := request{c.Client, c.Seq}
	if w, ok := s.waiting[r]; ok {
		close(w.done)
		delete(s.waiting, r)
	}
	return nil
}

// await returns a channel that is closed when the write is applied.
func (s *store) await(r request) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.waiting[r]
	if !ok {
		w = &waiting{done: make(chan struct{})}
		if s.state.Last[r.client] >= r.seq {
			close(w.done)
		} else {
			s.waiting[r] = w
		}
	}
	w.attempts++
	return w.done
}

func (s *store) forget(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.waiting[r]; ok {
		if w.attempts--; w.attempts == 0 {
			delete(s.waiting, r)
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
