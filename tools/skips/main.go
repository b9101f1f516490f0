// Command skips says in one list what a run of the checks has left out:
//
//	skips FILE...
//
// A FILE has events of go test -json, or plain lines, each a thing that was skipped and why. Tests that were skipped for
// the same reason are one line.
package main

import (
	"fmt"
	"os"

	"evenkeel.dev/tools/internal/skips"
)

func main() {
	var list skips.List
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err == nil {
			err = list.Read(f)
			f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "skips:", err)
			os.Exit(1)
		}
	}
	list.Print(os.Stdout)
}
