package raftgate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type stillRaft struct{ Raft }

// TestMemberThatComesAndGoes tests that the log has at most one line a minute about a member.
func TestMemberThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil))) // without a gate
		defer slog.SetDefault(before)
		m, err := New(Options{
			Raft: stillRaft{},
			Ask:  func(context.Context, string, []byte) ([]byte, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for range 10 { // two minutes
			for range 12 {
				m.heard(answered{voter: Voter{ID: "b"}, err: errors.New("refused")})
				time.Sleep(time.Second)
			}
			m.heard(answered{voter: Voter{ID: "b"}})
		}
		log := text.String()
		if strings.Count(log, "does not answer") != 2 || strings.Count(log, "answers again") != 2 ||
			!strings.Contains(log, "times=5") {
			t.Errorf("the log is not two lines of each, the second for five times:\n%s", log)
		}
	})
}
