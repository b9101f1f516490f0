//go:build !unix

package httpd_test

import (
	"net"
	"testing"
)

func narrow(t *testing.T) net.Listener {
	t.Skip("needs a backend of package aio")
	return nil
}
