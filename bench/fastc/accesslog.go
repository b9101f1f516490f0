// Package ginlog reads what Gin's access log says of its handlers.
package ginlog

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"evenkeel.dev/loadgen"
)

// line is one of Gin's default format (gin-gonic/gin, logger.go): status, latency, client, method and path.
var line = regexp.MustCompile(`^\[GIN\] .*\| (\d{3}) \| +([0-9.µa-z]+) \| .* \| [A-Z]+ +"([^"]*)"`)

// Series are the handlers' times of the answers with status 200 to one path.
type Series struct {
	Path  string
	Times loadgen.Histogram
}

// Read returns a series for each path in text, in the order in which they come first. Lines that are none of an access
// log are skipped, such as what the service itself logs.
func Read(text []byte) ([]*Series, error) {
	var all []*Series
	byPath := map[string]*Series{}
	for l := range bytes.Lines(text) {
		m := line.FindSubmatch(l)
		if m == nil || string(m[1]) != "200" {
			continue
		}
		took, err := time.ParseDuration(string(m[2]))
		if err != nil {
			return nil, fmt.Errorf("access log: %q: %w", bytes.TrimSpace(l), err)
		}
		path := string(m[3])
		s := byPath[path]
		if s == nil {
			s = &Series{Path: path}
			byPath[path] = s
			all = append(all, s)
		}
		s.Times.Record(took)
	}
	return all, nil
}
