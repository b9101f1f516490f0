package recorder_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/recorder"
)

func Example() {
	ctx := context.Background()
	rec, err := recorder.Start(ctx, recorder.Options{
		Slow: 50 * time.Millisecond, InProcess: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	explained := make(chan recorder.Explained, 1)
	rec.Subscribe(func(e recorder.Explained) {
		select {
		case explained <- e:
		default: // it must not wait
		}
	})

	mux := http.NewServeMux()
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintln(w, "done")
	})
	srv := httptest.NewServer(rec.Middleware(mux))
	defer srv.Close()
	// A busy machine may be too slow for the analysis, which has the lowest priority: so it asks again.
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); {
		res, err := http.Get(srv.URL + "/report")
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()

		select {
		case e := <-explained:
			// The cause is sleep, or machine, where that stood still meanwhile.
			fmt.Println(e.Class, "was slow for a known cause:", e.Cause != reqtrace.CauseUnknown)
			fmt.Println(rec.Stop(ctx))
			return
		case <-time.After(time.Second):
		}
	}
	// Output:
	// GET /report was slow for a known cause: true
	// <nil>
}
