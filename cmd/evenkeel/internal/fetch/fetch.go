// Package fetch reads pages of services, and the URLs that users write.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Get sends a request. The caller closes the body of the answer.
func Get(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// Page returns a page of at most so many bytes. wanted says what to do about another status than
// 200.
func Page(ctx context.Context, c *http.Client, page string, most int64, wanted string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, fetchError(ctx, c, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("it answered %s%s: %s", resp.Status, FirstLine(resp.Body), wanted)
		if resp.StatusCode == http.StatusNotFound {
			err = notFoundError{err}
		}
		return nil, err
	}
	b, err := AtMost(resp.Body, most)
	if err != nil {
		return nil, fetchError(ctx, c, err)
	}
	return b, nil
}

type notFoundError struct{ error }

func (notFoundError) Is(target error) bool { return target == fs.ErrNotExist }

func IsURL(name string) bool { return strings.Contains(name, "://") }

// ParseURL reads a URL, or HOST:PORT/PATH for http.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(WithScheme(text))
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		err = errors.New("not an http or https URL of a host")
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w; write it as http://HOST:PORT/PATH", text, err)
	}
	return u, nil
}

// WithScheme adds http:// if there is no scheme.
func WithScheme(name string) string {
	if IsURL(name) {
		return name
	}
	return "http://" + name
}

// Address returns the host and port of a URL.
func Address(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(u.Hostname(), port)
}

// NewClient returns a client that keeps no connection open.
func NewClient(timeout time.Duration, c *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: c}, Timeout: timeout}
}

func fetchError(ctx context.Context, c *http.Client, err error) error {
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() && ctx.Err() == nil {
		return fmt.Errorf("no whole answer within %v: is the process stopped or overloaded, or its machine away?",
			c.Timeout)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}

// AtMost reads all of r, or fails if that is more.
func AtMost(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it is over %d MiB", most>>20)
	}
	return b, err
}

// FirstLine returns the first line of a body, safe for a terminal.
func FirstLine(r io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(r, 200))
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	line = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, line)
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}
