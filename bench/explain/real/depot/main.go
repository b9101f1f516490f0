//go:build linux

// Command depot keeps goods in bbolt. The suite's driver knows what it suffers from; nothing in here says it.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

type depot struct {
	db  *bbolt.DB
	box []byte // of a delivery
}

var shelf, cellar = []byte("shelf"), []byte("cellar")

func main() {
	log.SetFlags(0)
	dir := os.Getenv("DIR")
	db, err := bbolt.Open(filepath.Join(dir, "depot.db"), 0o600, &bbolt.Options{NoFreelistSync: true, InitialMmapSize: 1 << 30})
	if err != nil {
		log.Fatal("depot: ", err)
	}
	d := &depot{db, make([]byte, 64<<10)}
	if err := d.put("first", nil); err != nil {
		log.Fatal("depot: ", err)
	}
	serve := func(item string) error { return d.put(item, []byte("one")) }
	if os.Getenv("FEATURE") == "50" {
		serve = d.trade
	} else {
		go d.restockOften()
	}
	http.HandleFunc("GET /depot/{item}", func(w http.ResponseWriter, r *http.Request) {
		if err := serve(r.PathValue("item")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("depot: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("depot: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

func (d *depot) restockOften() {
	for range time.Tick(800 * time.Millisecond) {
		if err := d.restock(); err != nil {
			log.Print(err)
		}
	}
}

// trade takes large things in, and looks for small ones.
func (d *depot) trade(item string) error {
	if item == "large" {
		return d.restock()
	}
	return d.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(shelf).Get([]byte("first")) == nil {
			return fmt.Errorf("%s: none of it is left", item)
		}
		return nil
	})
}

// put keeps one thing. It lasts when the next delivery does.
func (d *depot) put(item string, what []byte) error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		d.db.NoSync = true // guarded by the write transaction, as it is below
		b, err := tx.CreateBucketIfNotExists(shelf)
		if err != nil {
			return err
		}
		return b.Put([]byte(item), what)
	})
}

// restock takes a delivery in.
func (d *depot) restock() error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		d.db.NoSync = false
		b, err := tx.CreateBucketIfNotExists(cellar)
		for box := range 48 {
			if err == nil {
				err = b.Put([]byte{byte(box)}, d.box)
			}
		}
		return err
	})
}
