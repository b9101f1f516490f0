package load

import (
	"errors"
	"fmt"
	"net/url"

	"evenkeel.dev/cmd/evenkeel/internal/observe"
)

// Absolute completes a flag's URL; where it is empty it is otherwise.
func Absolute(flag, s string, otherwise *url.URL) (string, error) {
	if s == "" {
		return otherwise.String(), nil
	}
	u, err := url.Parse(withScheme(s))
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		err = errors.New("no http or https URL")
	}
	if err != nil {
		return "", fmt.Errorf("%s %q: %w; write it as http://HOST:PORT/PATH", flag, s, err)
	}
	return u.String(), nil
}

// PProfAt completes the URL of -pprof. Without a host it is the first target's; without a path,
// net/http/pprof's.
func PProfAt(s string, first *url.URL) (string, error) {
	at, err := Absolute("-pprof", s, &url.URL{Scheme: first.Scheme, Host: first.Host, Path: observe.PProfPath})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(at)
	if err == nil && (u.Path == "" || u.Path == "/") {
		u.Path = observe.PProfPath
		at = u.String()
	}
	return at, err
}
