//go:build linux

// Command accounts keeps accounts in SQLite, by the driver with cgo or the pure one. PLANT names
// what makes its slowest requests slow.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"
)

type accounts struct{ db *sql.DB }

func main() {
	log.SetFlags(0)
	plant := os.Getenv("PLANT")
	dir := os.Getenv("DIR")
	driver := "sqlite3"
	switch plant {
	case "sql-pool-asks", "sql-nothing", "sqlite":
		driver = "sqlite"
	}
	a, err := open(driver, filepath.Join(dir, "accounts.db"))
	if err != nil {
		log.Fatal("accounts: ", err)
	}
	switch plant {
	case "sql-pool-asks":
		a.db.SetMaxOpenConns(2)
		go every(700*time.Millisecond, func() { go a.settle(7); a.settle(8) })
	case "sql-nothing", "sqlite-c", "sqlite":
	default:
		log.Fatalf("accounts: PLANT=%s: there is no such plant", plant)
	}
	http.HandleFunc("GET /{which}", func(w http.ResponseWriter, r *http.Request) {
		work := a.balance
		if r.PathValue("which") == "large" {
			work = a.history
		}
		sum, err := work(r.Context(), 7)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, sum)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("accounts: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("accounts: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

func every(d time.Duration, f func()) {
	for range time.Tick(d) {
		f()
	}
}

func open(driver, file string) (*accounts, error) {
	options := "?_busy_timeout=20000&_journal_mode=WAL&_synchronous=OFF"
	if driver == "sqlite" {
		options = "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}
	db, err := sql.Open(driver, "file:"+file+options)
	if err != nil {
		return nil, err
	}
	for _, q := range []string{
		"CREATE TABLE entries (id INTEGER PRIMARY KEY, account INTEGER, amount INTEGER)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 40000) " +
			"INSERT INTO entries SELECT i, i % 977, i * 31 % 1000 FROM n",
	} {
		if _, err := db.Exec(q); err != nil {
			return nil, err
		}
	}
	return &accounts{db}, nil
}

func (a *accounts) balance(ctx context.Context, id int) (sum int, err error) {
	err = a.db.QueryRowContext(ctx, "SELECT amount FROM entries WHERE id = ?", id).Scan(&sum)
	return sum, err
}

const historyQuery = "SELECT sum(a.amount * b.amount) FROM entries a " +
	"JOIN entries b ON b.id = (a.id * 7919) % 40000 + 1 WHERE a.amount % 7 <> ?"

func (a *accounts) history(ctx context.Context, account int) (sum int, err error) {
	err = a.db.QueryRowContext(ctx, historyQuery, account).Scan(&sum)
	return sum, err
}

func (a *accounts) settle(account int) {
	if err := a.confirm(account); err != nil {
		log.Print(err)
	}
}

func (a *accounts) confirm(account int) error {
	tx, err := a.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var amount int
	if err := tx.QueryRow("SELECT amount FROM entries WHERE id = ?", account).Scan(&amount); err != nil {
		return err
	}
	res, err := http.Get(fmt.Sprintf("%s/after/60ms?amount=%d", os.Getenv("UPSTREAM"), amount))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	return tx.Commit()
}
