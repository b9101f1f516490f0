//go:build !cgo

package main

import (
	"errors"
	"io"
	"net/http"
)

func newHandler(_, _ io.Writer) (http.Handler, string, error) {
	return nil, "", errors.New("built without cgo, and all its work is in C: install a C compiler, such as gcc, " +
		"and build it with CGO_ENABLED=1")
}
