package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"evenkeel.dev/cmd/fastcgen/internal/emit"
)

// overwritable refuses a file that fastcgen did not write.
func overwritable(out string) error {
	f, err := os.Open(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // to be made
	}
	if err != nil { // what it is cannot be told
		return err
	}
	defer f.Close()
	begin := make([]byte, len(emit.Header))
	if n, _ := io.ReadFull(f, begin); string(begin[:n]) != emit.Header {
		return fmt.Errorf("%s is not a file that fastcgen generated, and stays as it is: remove it, or write to "+
			"another with -o", out)
	}
	return nil
}

// compare says whether the file out holds text.
func compare(name, out string, text []byte) error {
	const do = "run go generate, or fastcgen %s"
	old, err := os.ReadFile(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist: "+do, out, name)
	case err != nil:
		return err
	case !bytes.Equal(old, text):
		return fmt.Errorf("%s is stale: "+do, out, name)
	}
	return nil
}

// write puts text into the file out in one step: whoever reads it sees the old or the new.
func write(out string, text []byte) (err error) {
	mode := fs.FileMode(0o644)
	if fi, err := os.Stat(out); err == nil {
		mode = fi.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(out), ".fastcgen-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", out, err)
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
			err = fmt.Errorf("cannot write %s: %w", out, err)
		}
	}()
	if _, err := temp.Write(text); err != nil {
		return err
	}
	if err := temp.Chmod(mode); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), out)
}
