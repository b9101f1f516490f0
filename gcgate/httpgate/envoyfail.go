package httpgate

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// headerEnvoyFail is the header of Options.EnvoyFail, with any value (Envoy's HTTP router filter).
const headerEnvoyFail = "X-Envoy-Immediate-Health-Check-Fail"

// failWriter adds headerEnvoyFail to an answer that begins while this process drains. A later
// answer must not take a process out that is back.
type failWriter struct {
	http.ResponseWriter
	draining func() bool
	begun    bool
}

func (w *failWriter) begin() {
	switch {
	case w.begun:
	case w.draining():
		w.Header().Set(headerEnvoyFail, "1")
	default:
		w.Header().Del(headerEnvoyFail)
	}
	w.begun = true
}

func (w *failWriter) WriteHeader(status int) {
	w.begin()
	w.begun = status >= 200 || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

func (w *failWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

func (w *failWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin()
	return io.Copy(w.ResponseWriter, r)
}

func (w *failWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *failWriter) Flush() { _ = w.FlushError() }

func (w *failWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (w *failWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
