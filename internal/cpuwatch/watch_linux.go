package cpuwatch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	every       = 10 * time.Millisecond
	rescan      = 10 // moments between searches for threads
	mostThreads = 256
	mostMoments = 60_000 // ten minutes
	fewMoments  = 4096

	longestRead = 2 * time.Millisecond // a longer read is repeated
	mostTries   = 4
)

// Watch notes every 10 ms the kernel's counts for a process, and keeps the last minutes. Call End.
type Watch struct {
	mu      sync.Mutex // of cpu.Moments
	cpu     CPU
	groups  groups
	threads threads
	stop    chan struct{}
	done    chan struct{}
}

// Start begins to watch a process. The error says why the quota is not known. Threads are watched
// in any case.
func Start(pid int, withThreads bool) (*Watch, error) {
	w := &Watch{stop: make(chan struct{}), done: make(chan struct{})}
	err := w.groups.open(pid)
	w.cpu.Grouped, w.cpu.Quota = err == nil, w.groups.quota
	if withThreads {
		w.threads = threads{dir: fmt.Sprintf("/proc/%d/task", pid), open: map[int64]*thread{}}
	}
	w.note()
	go w.run()
	return w, err
}

// Quota returns CPUs, or 0 if there is no quota or it is not known.
func (w *Watch) Quota() float64 { return w.cpu.Quota }

// Recent returns the moments until now. Any goroutine may call it before End.
func (w *Watch) Recent() *CPU {
	w.note()
	w.mu.Lock()
	defer w.mu.Unlock()
	cpu := w.cpu
	cpu.Moments = slices.Clone(cpu.Moments)
	return &cpu
}

// End notes a last moment and returns all of them.
func (w *Watch) End() *CPU {
	close(w.stop)
	<-w.done
	w.note()
	w.groups.close()
	w.threads.close()
	return &w.cpu
}

func (w *Watch) run() {
	defer close(w.done)
	if w.threads.dir == "" && w.groups.quota == 0 {
		<-w.stop
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.note()
		}
	}
}

func (w *Watch) note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.threads.dir != "" && len(w.cpu.Moments)%rescan == 0 {
		w.threads.scan()
	}
	m := w.read()
	for tries := 1; tries < mostTries && time.Since(m.At) > longestRead; tries++ {
		m = w.read()
	}
	w.threads.keep(m.Threads)
	most := fewMoments
	if w.threads.dir != "" {
		most = mostMoments
	}
	if len(w.cpu.Moments) == most {
		w.cpu.Moments = append(w.cpu.Moments[:0], w.cpu.Moments[most/2:]...)
	}
	w.cpu.Moments = append(w.cpu.Moments, m)
}

// If this thread waits for a CPU, the counts are from different times.
func (w *Watch) read() Moment {
	at := time.Now()
	m := w.groups.read()
	m.At, m.Threads = at, w.threads.read()
	return m
}

// Only cpu.stat.local counts the stops by a parent's quota.
type groups struct {
	quota float64 // least of them; 0: none
	stats []*os.File
	local *os.File // nil, which reads as empty, if it is not there
}

// open leaves g empty if it fails.
func (g *groups) open(pid int) error {
	cgroup, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	dirs, v2, err := find(string(cgroup), string(mounts))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		quota, ok := quotaOf(dir, v2)
		if !ok || quota == 0 {
			continue
		}
		f, err := os.Open(filepath.Join(dir, "cpu.stat"))
		if err != nil {
			g.close()
			*g = groups{}
			return err
		}
		g.stats = append(g.stats, f)
		if g.quota == 0 || quota < g.quota {
			g.quota = quota
		}
	}
	if g.quota > 0 {
		g.local, _ = os.Open(filepath.Join(dirs[0], "cpu.stat.local"))
	}
	return nil
}

func quotaOf(dir string, v2 bool) (float64, bool) {
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	}
	if v2 {
		return parseMax(read("cpu.max"))
	}
	return ratio(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"))
}

func (g *groups) read() (sum Moment) {
	var buf [1024]byte
	text := func(f *os.File) string {
		n, _ := f.ReadAt(buf[:], 0)
		return string(buf[:n])
	}
	for _, f := range g.stats {
		c := parseStat(text(f))
		sum.Periods = max(sum.Periods, c.Periods)
		sum.Throttled += c.Throttled
		sum.Waited += c.Waited
	}
	if c := parseStat(text(g.local)); c.Waited > 0 { // waits of this group only, whichever quota it was
		sum.Waited = c.Waited
	}
	return sum
}

func (g *groups) close() {
	for _, f := range g.stats {
		f.Close()
	}
	g.local.Close() // also of nil
}

// Opening a thread's file takes 40 times as long as reading it, so files stay open.
type threads struct {
	dir  string
	open map[int64]*thread
}

type thread struct {
	file *os.File
	last ThreadTime
}

func (t *threads) scan() {
	list, err := os.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || t.open[id] != nil || len(t.open) >= mostThreads {
			continue
		}
		if f, err := os.Open(filepath.Join(t.dir, e.Name(), "schedstat")); err == nil {
			t.open[id] = &thread{file: f}
		}
	}
}

func (t *threads) read() (list []ThreadTime) {
	var buf [128]byte
	for id, x := range t.open {
		n, err := x.file.ReadAt(buf[:], 0)
		if n == 0 && err != nil {
			x.file.Close()
			delete(t.open, id)
			continue
		}
		if now, ok := parseSchedstat(id, string(buf[:n])); ok && now != x.last {
			list = append(list, now)
		}
	}
	return list
}

func (t *threads) keep(list []ThreadTime) {
	for _, now := range list {
		if x := t.open[now.ID]; x != nil {
			x.last = now
		}
	}
}

func (t *threads) close() {
	for _, x := range t.open {
		x.file.Close()
	}
}

func parseSchedstat(id int64, text string) (ThreadTime, bool) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return ThreadTime{}, false
	}
	ran, err := strconv.ParseInt(f[0], 10, 64)
	waited, err2 := strconv.ParseInt(f[1], 10, 64)
	return ThreadTime{ID: id, Ran: time.Duration(ran), Waited: time.Duration(waited)}, err == nil &&
		err2 == nil
}
