package reqtrace

import (
	"testing"
	"time"
)

// TestJobsOfOthers: a worker's jobs before the request's own are the others', though nobody waited
// for what came of them and the worker never had to wait for one. What it does several times for
// one job is the request's, where it was idle before.
func TestJobsOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		usual int  // waits in each job before
		idle  bool // the worker was, until the request sent its job
		want  map[Cause]int64
	}{
		"a full queue":           {1, false, map[Cause]int64{CauseRunning: 20, CauseChannel: 70, CauseSleep: 30}},
		"one job of three waits": {1, true, map[Cause]int64{CauseRunning: 30, CauseSleep: 90}},
		"jobs of several waits":  {2, false, map[Cause]int64{CauseRunning: 30, CauseSleep: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 4), 2)
			s.at(11).create(0, 3).run(3, 3).wait(3, "chan receive", "main.other")
			for i := range int64(minJobs) { // each takes 4 µs
				for j := range int64(tt.usual) {
					s.at(20+4*i+j).wait(2, "sleep", "time.Sleep", "main.work").at(21+4*i+j).wake(0, 2).run(2, 2)
				}
				s.at(23+4*i).wake(2, 3).run(3, 3).wait(3, "chan receive", "main.other")
			}
			if tt.idle {
				s.at(90).wait(2, "chan receive", "main.work")
			}
			serve(s)
			if s.at(105); tt.idle {
				s.wake(1, 2).run(2, 2)
			}
			s.wait(1, "chan receive", "main.submit")
			for i := range int64(3) {
				s.at(110+35*i).wait(2, "sleep", "time.Sleep", "main.work").at(140+35*i).wake(0, 2).run(2, 2)
			}
			s.at(215).release(2, 1, "main.work").run(1, 1)
			r := done(s.at(220)).want(tt.want)
			if b := r.Sites[0]; tt.want[CauseChannel] > 0 &&
				(b.Cause != CauseChannel || b.Site != "main.submit (x.go:7)" || b.Doing != CauseSleep ||
					b.Time != 60*time.Microsecond) {
				t.Errorf("%+v", b)
			}
		})
	}
}
