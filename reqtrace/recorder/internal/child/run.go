package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"evenkeel.dev/reqtrace/history"
)

// Errors of [Run].
var (
	ErrStart = errors.New("the analysis could not be started")
	ErrDied  = errors.New("the analysis ended without an answer")
)

// endDelay is how long Run waits for a child's pipes once it has ended or was killed. A variable for tests.
var endDelay = 2 * time.Second

// Run has a child analyse a trace, and returns what the child took of the processors as well. command is the program and its
// arguments but the last; nil: this process's executable. ctx kills the child.
func Run(ctx context.Context, command []string, j Job, trace io.Reader) (e *history.Explained, cpu time.Duration, err error) {
	path, args := "", []string(nil)
	if len(command) > 0 {
		path, args = command[0], append(args, command...)
	} else {
		if path, err = self(); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrStart, err)
		}
		args = []string{filepath.Base(os.Args[0])}
	}
	head, err := json.Marshal(j)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStart, err)
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = append(args, Marker)
	cmd.Env = append(os.Environ(), "GODEBUG=", "GOTRACEBACK=single") // what packages read as they are initialised is as it was
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), trace)
	out, why := &bounded{most: maxAnswerBytes}, &bounded{most: 4 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = out, why
	cmd.WaitDelay = endDelay
	cmd.SysProcAttr = lowAttributes()
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStart, err)
	}
	err = cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		cpu = s.UserTime() + s.SystemTime()
	}
	// An answer that is whole counts even where its end could not be waited for: the service may reap all of its children.
	if json.Unmarshal(out.text.Bytes(), &e) == nil && e != nil {
		return e, cpu, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, cpu, fmt.Errorf("%w: it was killed: %w", ErrDied, context.Cause(ctx))
	case out.over:
		return nil, cpu, fmt.Errorf("%w: more than %d bytes of output are no answer", ErrDied, maxAnswerBytes)
	case err == nil:
		err = fmt.Errorf("%d bytes of output are no answer", out.text.Len())
	}
	if first, _, _ := strings.Cut(why.text.String(), "\n"); first != "" {
		err = fmt.Errorf("%w: %s", err, first)
	}
	return nil, cpu, fmt.Errorf("%w: %w", ErrDied, err)
}

// self returns the path of this process's executable, as long as it is certain that a child would be the same program.
func self() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-buildmode" && s.Value != "exe" && s.Value != "pie" {
				return "", fmt.Errorf("this program is a %s in a process of another program's: name a program in Options.Analyze", s.Value)
			}
		}
	}
	return Executable()
}

// bounded is output of a child.
type bounded struct {
	text bytes.Buffer
	most int
	drop bool // what is beyond; else it is an error, which ends the child
	over bool // there was more
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.most-b.text.Len())]
	b.text.Write(keep)
	b.over = b.over || len(keep) < len(p)
	if b.over && !b.drop {
		return len(keep), fmt.Errorf("more than %d bytes", b.most)
	}
	return len(p), nil
}
