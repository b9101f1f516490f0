package gateflags

import (
	"encoding/json"
	"os"
	"time"

	"evenkeel.dev/gcgate"
)

// eventsAhead is how many events may wait for the disk; more are dropped.
const eventsAhead = 1024

// events writes events to a file from a goroutine of its own: the gate's must not block.
type events struct {
	file   *os.File
	source string
	queue  chan gcgate.Event
	done   chan struct{}
}

// event is a line of the file.
type event struct {
	Time   time.Time    `json:"t"`
	Source string       `json:"source"`
	State  gcgate.State `json:"state"`
}

func createEvents(name, source string) (*events, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	e := &events{file: file, source: source, queue: make(chan gcgate.Event, eventsAhead), done: make(chan struct{})}
	go e.write()
	return e, nil
}

func (e *events) write() {
	defer close(e.done)
	enc := json.NewEncoder(e.file)
	for ev := range e.queue {
		_ = enc.Encode(event{ev.Time, e.source, ev.State}) // a full disk must not stop the service
	}
}

func (e *events) add(ev gcgate.Event) {
	select {
	case e.queue <- ev:
	default:
	}
}

// close is called when the gate has stopped.
func (e *events) close() {
	close(e.queue)
	<-e.done
	e.file.Close()
}
