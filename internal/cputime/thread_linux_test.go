package cputime

import (
	"runtime"
	"testing"
	"time"
)

// TestThread tests that the time grows while the thread works, and is part of the process's.
func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := Thread()
	if !ok {
		t.Fatal("not known")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		now, ok := Thread()
		if !ok || time.Now().After(deadline) {
			t.Fatalf("%v, %v after a minute's work; %v before", now, ok, before)
		}
		if now > before {
			if all := Process(); now > all+time.Millisecond {
				t.Errorf("the thread took %v, the whole process %v", now, all)
			}
			return
		}
	}
}
