package feeds_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/feeds"
)

func ExampleHandler() {
	w := httptest.NewRecorder()
	feeds.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/bbc.xml", nil))
	items, err := feed.Parse(w.Body)
	fmt.Println(len(items), err)
	// Output: 300 <nil>
}

func TestHandler(t *testing.T) {
	for path, want := range map[string]int{
		"/cnn.xml": http.StatusOK, "/bbc.xml": http.StatusOK, "/nyt.xml": http.StatusOK,
		"/": http.StatusNotFound, "/doc.go": http.StatusNotFound, "/..%2fdoc.go": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		feeds.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

// TestItems holds what the example relies on: enough text, in mixed case, with links.
func TestItems(t *testing.T) {
	for _, name := range []string{"cnn", "bbc", "nyt"} {
		w := httptest.NewRecorder()
		feeds.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+name+".xml", nil))
		items, err := feed.Parse(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(items); n < 250 || n > 350 {
			t.Errorf("%s: %d items", name, n)
		}
		for _, it := range items {
			if it.Title == it.LowerTitle || it.Text == it.LowerText || it.Link == "" {
				t.Errorf("%s: no capitals or no link: %+v", name, it)
			}
			if n := len(it.Text); n < 180 || n > 420 {
				t.Errorf("%s: description of %d bytes: %q", name, n, it.Text)
			}
		}
	}
}
