package main

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, 200, 500*time.Millisecond, 4); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" queries answered, 0 failed, seed ", "p50 ", "p99.9 ", "from the time due"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

func TestDriver(t *testing.T) {
	d, err := startDatabase()
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	db, err := sql.Open("lines", d.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var value string
	if err := db.QueryRow("GET ?", "k").Scan(&value); err != nil || value != "value of k" {
		t.Errorf("%q, %v", value, err)
	}
	if err := db.QueryRow("SELECT 1").Scan(&value); err == nil {
		t.Error("a query that the driver does not know is answered")
	}
	// A query that is given up takes its connection along: the next has another.
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if err := db.QueryRowContext(ctx, "GET ?", "late").Scan(&value); err == nil {
		t.Error("a query whose time was over is answered")
	}
	if err := db.QueryRow("GET ?", "next").Scan(&value); err != nil || value != "value of next" {
		t.Errorf("%q, %v", value, err)
	}
}
