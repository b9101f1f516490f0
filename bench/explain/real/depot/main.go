//go:build linux

// Command depot keeps goods in bbolt. It takes large things in, and looks for small ones.
package main

import (
	"errors"
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
	box [64 << 10]byte // of a delivery
}

var cellar = []byte("cellar")

func main() {
	log.SetFlags(0)
	log.SetPrefix("depot: ")
	o := &bbolt.Options{NoFreelistSync: true, InitialMmapSize: 1 << 30}
	db, err := bbolt.Open(filepath.Join(os.Getenv("DIR"), "depot.db"), 0o600, o)
	if err != nil {
		log.Fatal(err)
	}
	d := &depot{db: db}
	http.HandleFunc("GET /{item}", func(w http.ResponseWriter, r *http.Request) {
		do := d.look
		if r.PathValue("item") == "large" {
			do = d.restock
		}
		if err := do(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, d.restock()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

func (d *depot) look() error {
	return d.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(cellar).Get([]byte{0}) == nil {
			return errors.New("there is no box")
		}
		return nil
	})
}

// restock takes a delivery in.
func (d *depot) restock() error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(cellar)
		for box := range 48 {
			if err == nil {
				err = b.Put([]byte{byte(box)}, d.box[:])
			}
		}
		return err
	})
}
