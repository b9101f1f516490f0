package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"evenkeel.dev/internal/history"
)

const (
	maxAnswerBytes = 8 << 20
	maxSaidBytes   = 4 << 10         // of standard error
	endDelay       = 2 * time.Second // for pipes that children of the program hold open
)

// analyzeApart runs the program of Options.Analyze, which answers as [history.Answer] does.
func analyzeApart(
	ctx context.Context, command []string, h *history.Head, trace io.Reader,
) (e *history.Explained, took time.Duration, err error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), trace)
	out, why := &bounded{most: maxAnswerBytes}, &bounded{most: maxSaidBytes, drop: true}
	cmd.Stdout, cmd.Stderr = out, why
	cmd.WaitDelay = endDelay
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errStart, err)
	}
	err = cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		took = s.UserTime() + s.SystemTime()
	}
	// A complete answer counts even if Wait failed, because the service may reap its children
	// itself.
	if json.Unmarshal(out.text.Bytes(), &e) == nil && e != nil {
		return e, took, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, took, fmt.Errorf("it was killed: %w", context.Cause(ctx))
	case out.over:
		return nil, took, fmt.Errorf("its output exceeds %d bytes", maxAnswerBytes)
	case err == nil:
		err = fmt.Errorf("its output of %d bytes is not an answer", out.text.Len())
	}
	if first, _, _ := strings.Cut(why.text.String(), "\n"); first != "" {
		err = fmt.Errorf("%w: %s", err, first)
	}
	return nil, took, err
}

type bounded struct {
	text bytes.Buffer
	most int
	drop bool // drop what exceeds most; otherwise it is an error, which ends the program
	over bool
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
