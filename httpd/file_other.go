//go:build !linux

package httpd

import "io"

func (*worker) sendFile(io.Reader) (int64, error, bool) { return 0, nil, false } //nolint:revive // as on Linux
