package loadgen_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/loadgen"
)

// Call puts any client under load, such as database/sql with your own driver. Queries wait for a
// connection inside the pool. A timer around the query in a closed loop would hardly see that. Here
// latency counts from the time that each query was due.
func ExampleRun_call() {
	db := sql.OpenDB(slowStore{})
	defer db.Close()
	db.SetMaxOpenConns(2)

	result, err := loadgen.Run(context.Background(), loadgen.Options{
		Call: func(ctx context.Context, worker int) error {
			var value string
			return db.QueryRowContext(ctx, "GET ?", worker).Scan(&value)
		},
		Rate:     500,
		Requests: 50,
		Arrivals: loadgen.ArrivalsPoisson, // as from clients that do not know of each other
		Timeout:  time.Minute,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Answered, "answered,", result.Failed, "failed")
	fmt.Println("the pool is too small:", result.Latency.Quantile(.99) > 10*time.Millisecond)
	// Output:
	// 50 answered, 0 failed
	// the pool is too small: true
}

// slowStore is a database that takes 10 ms for a query. It has what database/sql needs at least.
type slowStore struct{}

var errNotSupported = errors.New("the only query is GET ?")

func (s slowStore) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s slowStore) Driver() driver.Driver                        { return s }
func (s slowStore) Open(string) (driver.Conn, error)             { return s, nil }
func (slowStore) Prepare(string) (driver.Stmt, error)            { return nil, errNotSupported }
func (slowStore) Begin() (driver.Tx, error)                      { return nil, errNotSupported }
func (slowStore) Close() error                                   { return nil }

func (slowStore) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	time.Sleep(10 * time.Millisecond)
	return &oneRow{}, nil
}

// oneRow is an answer of one row.
type oneRow struct{ read bool }

func (r *oneRow) Columns() []string { return []string{"value"} }
func (r *oneRow) Close() error      { return nil }

func (r *oneRow) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	row[0], r.read = "hello", true
	return nil
}
