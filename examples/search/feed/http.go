package feed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

const maxBytes = 8 << 20

// ErrTooLarge is what a fetch returns for a document of more than 8 MiB.
var ErrTooLarge = errors.New("document too large")

// Fetch reads the feed at an address once.
func Fetch(ctx context.Context, client *http.Client, at string) ([]Item, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch feed: %w", err)
	}
	req.Header.Set("Accept", "application/rss+xml, application/xml;q=0.9, text/xml;q=0.8")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer from the feed server: %w", cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the feed server answered %s", resp.Status)
	}
	items, err := Parse(http.MaxBytesReader(nil, resp.Body, maxBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, ErrTooLarge
	}
	return items, err
}

// cause leaves out addresses, because a URL may hold a key.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	return err
}
