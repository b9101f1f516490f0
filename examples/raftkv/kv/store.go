package kv

import (
	"encoding/json"
	"sync"
)

// A command is one write. Clients number theirs, so that one that is sent again is applied once.
type command struct {
	Client string `json:"c"`
	Seq    uint64 `json:"s"` // from 1, one after the other
	Key    string `json:"k"`
	Value  string `json:"v"`
}

// request names a write.
type request struct {
	client string
	seq    uint64
}

// state is what the members agree on.
type state struct {
	Values map[string]string `json:"values"`
	Last   map[string]uint64 `json:"last"` // of each client the last write that was applied
}

// store is the state machine. Its methods may be called from any goroutine.
type store struct {
	mu      sync.Mutex
	state   state                // guarded by mu
	waiting map[request]*waiting // guarded by mu
}

// waiting is for a write, which may be sent again before the first attempt has ended.
type waiting struct {
	done     chan struct{} // closed when the write is applied
	attempts int
}

func newStore() *store {
	return &store{
		state:   state{Values: map[string]string{}, Last: map[string]uint64{}},
		waiting: map[request]*waiting{},
	}
}

// apply makes a write that was committed, unless it was made before.
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

// await returns a channel that is closed when a write is applied: it may have been.
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

// forget ends what await began.
func (s *store) forget(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.waiting[r]; ok {
		if w.attempts--; w.attempts == 0 {
			delete(s.waiting, r)
		}
	}
}

// get returns a key's value.
func (s *store) get(key string) (value string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.state.Values[key]
	return value, ok
}

// marshal returns the state for a member that has none.
func (s *store) marshal() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(s.state)
}

// unmarshal takes the state of another member.
func (s *store) unmarshal(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Unmarshal(data, &s.state)
}
