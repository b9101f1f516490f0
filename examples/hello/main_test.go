package main

import (
	"net/http/httptest"
	"testing"
)

func TestHello(t *testing.T) {
	w := httptest.NewRecorder()
	program.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if got := w.Body.String(); w.Code != 200 || got != "hello, world\n" {
		t.Errorf("status %d, body %q", w.Code, got)
	}
}
