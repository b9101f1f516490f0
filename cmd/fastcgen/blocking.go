package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// blockingKinds are functions of the C library that may wait for something other than the
// processor, in the order of how much they say to a reader. malloc and free are not among them: they
// take a lock that is held for nanoseconds, and every second library uses them.
var blockingKinds = []struct {
	name  string
	calls []string
}{
	{"files", strings.Fields(`
	pwrite write pread read fsync fdatasync pwritev writev preadv readv fwrite fread fflush fputs fgets open openat fopen
	creat close sync syncfs msync flock lockf fcntl ioctl sendfile splice
	freopen fdopen fclose fgetc getc getchar getline getdelim fputc putc putchar puts
	printf fprintf vprintf vfprintf dprintf vdprintf perror scanf fscanf vscanf vfscanf
	opendir readdir closedir rename unlink mkdir rmdir stat lstat fstat access dlopen dlsym`)},
	{"locks and threads", strings.Fields(`
	pthread_mutex_lock pthread_mutex_timedlock pthread_cond_wait pthread_cond_timedwait pthread_rwlock_rdlock
	pthread_rwlock_wrlock pthread_join pthread_barrier_wait pthread_spin_lock pthread_once
	mtx_lock mtx_timedlock cnd_wait cnd_timedwait thrd_join call_once
	sem_wait sem_timedwait semop futex syscall`)},
	{"waiting, the network and processes", strings.Fields(`
	nanosleep clock_nanosleep sleep usleep thrd_sleep poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2 kqueue kevent
	connect accept accept4 recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg
	pause sigsuspend sigwait sigwaitinfo sigtimedwait alarm
	wait waitpid wait3 wait4 waitid system popen pclose fork vfork
	getaddrinfo getnameinfo gethostbyname gethostbyaddr getpwnam getpwuid getgrnam getgrgid
	mq_send mq_receive msgrcv msgsnd getrandom getentropy`)},
}

// blockingCalls are those of all kinds.
var blockingCalls = func() (list []string) {
	for _, k := range blockingKinds {
		list = append(list, k.calls...)
	}
	return list
}()

// callbacks are how C gets back into Go.
func isCallback(symbol string) bool {
	return symbol == "crosscall2" || strings.HasPrefix(symbol, "_cgoexp_") || strings.HasPrefix(symbol, "_cgo_")
}

// jumps are how C leaves functions without returning from them, and landings where they come to. A function
// that gets to a jump and to no landing leaves itself: there are frames of Go above it.
var (
	jumps    = []string{"longjmp", "_longjmp", "siglongjmp"}
	landings = []string{"setjmp", "_setjmp", "sigsetjmp"}
)

// looked reports whether a way to a symbol is to be found.
func looked(symbol string) bool {
	name := libcName(symbol)
	return isCallback(symbol) || slices.Contains(blockingCalls, name) || slices.Contains(jumps, name) || slices.Contains(landings, name)
}

// withoutLandings leaves out the ways to landings and, where one is sure, to jumps.
func withoutLandings(found []*step) []*step {
	to := func(names []string) func(*step) bool {
		return func(s *step) bool { return slices.Contains(names, libcName(s.key)) }
	}
	lands := slices.ContainsFunc(found, func(s *step) bool { return s.sure && to(landings)(s) })
	return slices.DeleteFunc(found, func(s *step) bool { return to(landings)(s) || lands && to(jumps)(s) })
}

// libcName undoes what headers and compilers do to the names of the C library's functions:
// __read_chk is read, open64 is open, __isoc99_scanf is scanf.
func libcName(symbol string) string {
	s, _, _ := strings.Cut(symbol, "@")
	s, _, _ = strings.Cut(s, "$") // macOS: read$NOCANCEL
	s = strings.TrimPrefix(s, "__isoc99_")
	s = strings.TrimPrefix(s, "__isoc23_")
	s = strings.TrimPrefix(strings.TrimSuffix(s, "_chk"), "__")
	if short := strings.TrimSuffix(s, "64"); slices.Contains(blockingCalls, short) {
		return short
	}
	return s
}

// search is what to look into for calls that a leaf function must not make.
type search struct {
	tc     *toolchain
	pkg    *goPackage
	d      *declaration
	source string // C: the preamble and the shims
	shim   string // the name of a function in it
}

// warnings says which declared functions get to calls that leaf functions must not make: in the preamble and
// in the package's own C files by a graph of calls, in libraries by what they import.
func (s *search) warnings(ctx context.Context) []string {
	d := s.d
	if !slices.ContainsFunc(d.funcs, func(f *funcDecl) bool { return !f.alwaysSlow() }) {
		return nil
	}
	at := fmt.Sprintf("%s:%d", d.path, d.preambleAt.Line)
	var list []string
	graph := &callGraph{}
	look := func(what, stdin string, args ...string) {
		text, err := s.tc.assembly(ctx, stdin, args...)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into %s for calls that block: %s", at, what, firstLine(err.Error())))
			return
		}
		graph.add(text)
	}
	look("the preamble", s.source, "-x", "c", "-")
	if graph.nodes != nil && graph.nodes[s.shim] == nil { // Mach-O's assembly has other marks
		return append(list, at+": warning: the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
	}
	for _, name := range s.pkg.cFiles {
		look(name, "", name)
	}
	graph.lead(s.pkg.exports())
	libraries := s.libraries(ctx)
	said := map[string]bool{}
	for _, f := range d.funcs {
		if f.alwaysSlow() || said[f.call.cName] {
			continue
		}
		said[f.call.cName] = true
		found := withoutLandings(graph.reach(root(graph, f), looked))
		if len(found) > 0 {
			list = append(list, fmt.Sprintf("%s: warning: %s", f.call.at, graph.sentence(f.call.cName, found)))
		}
		for _, l := range libraries {
			if what := l.blocking(f.call.cName); what != "" {
				list = append(list, fmt.Sprintf("%s: warning: %s is in %s: whether it gets there cannot be seen; put //fastc:slow above %s unless you know",
					f.call.at, f.call.cName, what, f.name))
			}
		}
	}
	return list
}

// root returns the node of the C function that f calls: a static one of the preamble, which is the first
// file, or a global one.
func root(graph *callGraph, f *funcDecl) string {
	if key := f.call.cName + "#1"; graph.nodes[key] != nil {
		return key
	}
	return f.call.cName
}

// sentence says what the ways lead to, and shows the most telling one of each kind. Those that hang on a
// pointer that may be anything are left out where there is another.
func (g *callGraph) sentence(cName string, found []*step) string {
	if sure := slices.DeleteFunc(slices.Clone(found), func(s *step) bool { return !s.sure }); len(sure) > 0 {
		found = sure
	}
	shown := telling(found)
	what := "which may block: a leaf function must not; put //fastc:slow above it"
	switch {
	case isCallback(shown[0].key):
		what = "which leads into Go: a leaf function that gets there ends the process; use ordinary cgo for it"
	case slices.Contains(jumps, libcName(shown[0].key)):
		what = "and to no setjmp: a jump over the frames of Go ends the process, by cgo too; " +
			"wrap it in a static inline function in the preamble that calls setjmp"
	}
	var names, others, ways []string
	for _, s := range shown {
		names = append(names, libcName(s.key))
		ways = append(ways, "\n\t"+g.path(s))
	}
	for _, s := range found {
		if !slices.Contains(names, libcName(s.key)) {
			others = append(others, libcName(s.key))
		}
	}
	more := ""
	if len(others) > 0 {
		more = " (and to " + some(others) + ")"
	}
	return fmt.Sprintf("%s gets to %s%s, %s%s", cName, strings.Join(names, " and "), more, what, strings.Join(ways, ""))
}

// telling returns the step of each kind that says most, a way into Go first, then a jump.
func telling(found []*step) []*step {
	var list []*step
	for _, ends := range []func(symbol string) bool{isCallback, func(s string) bool { return slices.Contains(jumps, libcName(s)) }} {
		if i := slices.IndexFunc(found, func(s *step) bool { return ends(s.key) }); i >= 0 && len(list) == 0 {
			list = append(list, found[i])
		}
	}
	for _, k := range blockingKinds {
		best := -1
		for i, s := range found {
			if rank(k.calls, s) < len(k.calls) && (best < 0 || rank(k.calls, s) < rank(k.calls, found[best])) {
				best = i
			}
		}
		if best >= 0 {
			list = append(list, found[best])
		}
	}
	return list
}

// rank returns the place of a step's symbol in a list, and the list's length where it is not in it.
func rank(calls []string, s *step) int {
	if i := slices.Index(calls, libcName(s.key)); i >= 0 {
		return i
	}
	return len(calls)
}

// some lists names, the first few of many.
func some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
