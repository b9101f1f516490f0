package main

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The driver "lines" speaks a protocol of one line a query, "GET KEY", and one line an answer. It knows no other
// query and no transactions: it is what database/sql needs at least.
func init() { sql.Register("lines", lines{}) }

type lines struct{}

// Open connects to the address that was given to sql.Open.
func (lines) Open(addr string) (driver.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &lineConn{c, bufio.NewReader(c)}, nil
}

// lineConn is a connection. database/sql has one query at a time on it.
type lineConn struct {
	net.Conn
	answers *bufio.Reader
}

var errOnlyGet = errors.New("lines: the only query is GET ?")

func (c *lineConn) Prepare(string) (driver.Stmt, error) { return nil, errOnlyGet }
func (c *lineConn) Begin() (driver.Tx, error) {
	return nil, errors.New("lines: there are no transactions")
}

// QueryContext asks for the value of a key. After an error the connection is not used again, since an answer
// may still come on it.
func (c *lineConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if query != "GET ?" || len(args) != 1 {
		return nil, errOnlyGet
	}
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, driver.ErrBadConn
	}
	if _, err := fmt.Fprintf(c, "GET %v\n", args[0].Value); err != nil {
		c.Close()
		return nil, err
	}
	line, err := c.answers.ReadString('\n')
	if err != nil {
		c.Close()
		return nil, err
	}
	return &lineRows{value: strings.TrimSpace(line)}, nil
}

// IsValid keeps a connection that a failed query has closed out of the pool.
func (c *lineConn) IsValid() bool { return c.SetDeadline(time.Time{}) == nil }

// lineRows is an answer of one row.
type lineRows struct {
	value string
	read  bool
}

func (r *lineRows) Columns() []string { return []string{"value"} }
func (r *lineRows) Close() error      { return nil }

func (r *lineRows) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	row[0], r.read = r.value, true
	return nil
}
