package child

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

// TestLow: a child that reads its trace has the lowest priority with all of its threads, and is the first to be killed.
func TestLow(t *testing.T) {
	leaks.Test(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_, _, _ = Run(ctx, nil, Job{Threshold: time.Second}, silent{ctx})
	}()
	seen := ""
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if seen = lowChild(); seen == "low" {
			break
		}
	}
	if seen != "low" {
		t.Error("the child: ", seen)
	}
	cancel()
	<-ended
}

// lowChild says what it finds of this process's children.
func lowChild() string {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(pids)) {
			score, _ := os.ReadFile("/proc/" + pid + "/oom_score_adj")
			if strings.TrimSpace(string(score)) != "1000" {
				return fmt.Sprintf("oom_score_adj %s", score)
			}
			stats, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
			for _, stat := range stats {
				text, _ := os.ReadFile(stat)
				_, rest, _ := strings.Cut(string(text), ") ")
				if f := strings.Fields(rest); len(f) < 17 || f[16] != "19" { // nice is field 19, and these begin with the third
					return fmt.Sprintf("%s: %s", stat, text)
				}
			}
			if len(stats) > 0 {
				return "low"
			}
		}
	}
	return "none"
}
