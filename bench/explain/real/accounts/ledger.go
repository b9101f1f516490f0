//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

// settle has the bank confirm an account's entry.
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

// export writes accounts to a file.
func (a *accounts) export(file string) {
	if err := a.write(file); err != nil {
		log.Print(err)
	}
}

func (a *accounts) write(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := a.db.Query("SELECT id, amount FROM entries LIMIT 16")
	if err != nil {
		return err
	}
	defer rows.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for rows.Next() {
		var id, amount int
		if err := rows.Scan(&id, &amount); err != nil {
			return err
		}
		fmt.Fprintf(w, "%1000000d,%d\n", id, amount)
		if err := errors.Join(w.Flush(), f.Sync()); err != nil {
			return err
		}
	}
	return rows.Err()
}
