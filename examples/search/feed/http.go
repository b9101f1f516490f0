package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// defaultMaxBytes bounds a document unless HTTP.MaxBytes says otherwise.
const defaultMaxBytes = 8 << 20

// ErrTooLarge is what a fetch returns for a document of more than [HTTP].MaxBytes.
var ErrTooLarge = errors.New("document too large")

// StatusError is an answer other than 200 OK.
type StatusError struct {
	Code int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the feed server answered %d %s", e.Code, http.StatusText(e.Code))
}

// HTTP is a feed at an address. It is immutable and may be used by several goroutines.
type HTTP struct {
	URL      string
	Client   *http.Client // nil: http.DefaultClient
	MaxBytes int64        // 0: 8 MiB
}

// Fetch reads the feed once. It waits until ctx is done at most.
func (h HTTP) Fetch(ctx context.Context) ([]Item, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch feed: %w", err)
	}
	req.Header.Set("Accept", "application/rss+xml, application/xml;q=0.9, text/xml;q=0.8")

	client := h.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer from the feed server: %w", cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &StatusError{Code: resp.StatusCode}
	}
	maxBytes := h.MaxBytes
	if maxBytes <= 0 {
		maxBytes = defaultMaxBytes
	}
	return Parse(&bounded{r: resp.Body, left: maxBytes})
}

// cause leaves out addresses, which are not the business of a page's reader: the URL may
// hold a key.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return err
}

// bounded reads at most left bytes and fails where io.LimitReader would end the document
// as if it were complete.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more than allowed, to tell "just enough" from "too much"
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
