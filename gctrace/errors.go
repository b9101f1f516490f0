package gctrace

import "errors"

var errBadRead = errors.New("gctrace: the io.Reader given to NewScanner returned an impossible count: fix its Read")
