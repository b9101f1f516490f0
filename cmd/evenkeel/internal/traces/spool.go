package traces

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

const spoolMemory = 64 << 20

// spool is a fetched trace. It is read once, and then closed.
type spool struct {
	memory bytes.Buffer
	file   *os.File // nil: no more
	most   int64    // in memory; 0: spoolMemory
}

func (s *spool) fill(r io.Reader) (n int64, err error) {
	most := cmp.Or(s.most, spoolMemory)
	if n, err = s.memory.ReadFrom(io.LimitReader(r, most)); err != nil || n < most {
		return n, err
	}
	if s.file, err = os.CreateTemp("", "evenkeel-trace-"); err != nil {
		return n, fmt.Errorf("no room for the trace beyond %d MiB: %w", most>>20, err)
	}
	more, err := io.Copy(s.file, r)
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	return n + more, err
}

func (s *spool) Read(b []byte) (int, error) {
	n, err := s.memory.Read(b)
	if err == io.EOF && s.file != nil {
		return s.file.Read(b)
	}
	return n, err
}

// Close removes the file.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// save writes all of an unread spool to a file, or nothing.
func (s *spool) save(name string) error {
	return runfile.Save(name, func(w io.Writer) error {
		_, err := w.Write(s.memory.Bytes())
		if err == nil && s.file != nil {
			_, err = io.Copy(w, s.file)
			_, seekErr := s.file.Seek(0, io.SeekStart)
			err = errors.Join(err, seekErr)
		}
		return err
	})
}
