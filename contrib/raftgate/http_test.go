package raftgate_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evenkeel.dev/contrib/raftgate"
)

func TestHTTP(t *testing.T) {
	g := newGroup(t, "a", "b")
	server := httptest.NewServer(g.members["b"])
	client := server.Client()
	ask := raftgate.AskHTTP(client, func(id string) string { return server.URL + "/" + id })
	answer, err := ask(t.Context(), "b", []byte(`{"from":"a","since":1}`))
	if err != nil || !strings.Contains(string(answer), `"go":true`) {
		t.Errorf("answer %s, %v", answer, err)
	}
	if _, err := ask(t.Context(), "b", []byte(`{`)); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("half a question: %v", err)
	}
	if _, err := ask(t.Context(), "b", make([]byte, 5000)); err == nil {
		t.Error("a question without end was answered")
	}
	if resp, err := client.Get(server.URL); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	server.Close()
	if _, err := ask(t.Context(), "b", nil); !errors.Is(err, raftgate.ErrGone) {
		t.Errorf("nobody listens: %v, want ErrGone", err)
	}
}
