package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// blockingCalls are functions of the C library that may wait for something other than the
// processor. malloc and free are not among them: they take a lock that is held for
// nanoseconds, and every second library uses them.
var blockingCalls = strings.Fields(`
	read pread readv preadv write pwrite writev pwritev open openat creat close fsync fdatasync sync syncfs msync
	flock lockf fcntl ioctl sendfile splice
	poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2 kqueue kevent
	nanosleep clock_nanosleep sleep usleep pause sigsuspend sigwait sigwaitinfo sigtimedwait alarm
	pthread_mutex_lock pthread_mutex_timedlock pthread_cond_wait pthread_cond_timedwait pthread_rwlock_rdlock
	pthread_rwlock_wrlock pthread_join pthread_barrier_wait pthread_spin_lock pthread_once
	mtx_lock mtx_timedlock cnd_wait cnd_timedwait thrd_join thrd_sleep call_once
	sem_wait sem_timedwait futex syscall
	connect accept accept4 recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg
	wait waitpid wait3 wait4 waitid system popen pclose fork vfork
	getaddrinfo getnameinfo gethostbyname gethostbyaddr getpwnam getpwuid getgrnam getgrgid
	fopen freopen fdopen fclose fflush fread fwrite fgets fgetc getc getchar getline getdelim fputs fputc putc putchar puts
	printf fprintf vprintf vfprintf dprintf vdprintf perror scanf fscanf vscanf vfscanf
	opendir readdir closedir stat lstat fstat access unlink rename mkdir rmdir
	mq_send mq_receive msgrcv msgsnd semop getrandom getentropy dlopen dlsym
`)

// callbacks are how C gets back into Go.
func isCallback(symbol string) bool {
	return symbol == "crosscall2" || strings.HasPrefix(symbol, "_cgoexp_") || strings.HasPrefix(symbol, "_cgo_")
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

// blocking looks for calls that a leaf function must not make and that the declared functions get to:
// in the preamble and in the package's own C files by a graph of calls, in shared libraries by
// what they import.
func (g *generator) blocking(ctx context.Context, tc *toolchain) []string {
	d := g.d
	if !slices.ContainsFunc(d.funcs, func(f *funcDecl) bool { return !f.alwaysSlow() }) {
		return nil
	}
	at := fmt.Sprintf("%s:%d", d.path, d.preambleAt.Line)
	var list []string
	graph := &callGraph{}
	look := func(what, stdin string, args ...string) {
		text, err := tc.assembly(ctx, stdin, args...)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into %s for calls that block: %s", at, what, firstLine(err.Error())))
			return
		}
		graph.add(text)
	}
	look("the preamble", g.trial(), "-x", "c", "-")
	if graph.nodes != nil && graph.nodes[g.shim(d.funcs[0])] == nil { // Mach-O's assembly has other marks
		return append(list, at+": warning: the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
	}
	for _, name := range g.pkg.cFiles {
		look(name, "", name)
	}
	libraries := g.libraries(ctx, tc)
	said := map[string]bool{}
	for _, p := range g.plans {
		f := p.fn
		if f.alwaysSlow() || said[f.call.cName] {
			continue
		}
		said[f.call.cName] = true
		found := graph.reach(g.root(graph, f), func(s string) bool { return isCallback(s) || slices.Contains(blockingCalls, libcName(s)) })
		if len(found) > 0 {
			list = append(list, fmt.Sprintf("%s: warning: %s", f.call.at, graph.sentence(f.call.cName, found)))
		}
		for _, l := range libraries {
			if l.exports[f.call.cName] && len(l.blocking) > 0 {
				list = append(list, fmt.Sprintf("%s: warning: %s is in %s, which calls %s: whether it gets there cannot be seen; put //fastc:slow above %s unless you know",
					f.call.at, f.call.cName, l.name, some(l.blocking), f.name))
			}
		}
	}
	return list
}

// root returns the node of the C function that f calls: a static one of the preamble, which is the first
// file, or a global one.
func (g *generator) root(graph *callGraph, f *funcDecl) string {
	if key := f.call.cName + "#1"; graph.nodes[key] != nil {
		return key
	}
	return f.call.cName
}

// sentence says what the ways lead to.
func (g *callGraph) sentence(cName string, found []*step) string {
	first := found[0]
	end := first.key
	what := "which may block: a leaf function must not; put //fastc:slow above it"
	if isCallback(end) {
		what = "which leads into Go: a leaf function that gets there ends the process; use ordinary cgo for it"
	}
	others := ""
	if len(found) > 1 {
		names := make([]string, 0, len(found)-1)
		for _, s := range found[1:] {
			names = append(names, s.key)
		}
		others = " (and to " + some(names) + ")"
	}
	ways := g.path(first)
	worst := slices.MinFunc(found, func(a, b *step) int { return rank(a.key) - rank(b.key) })
	if rank(worst.key) < rank(end) {
		ways += "; " + g.path(worst)
	}
	return fmt.Sprintf("%s gets to %s%s, %s: %s", cName, end, others, what, ways)
}

// rank orders blocking calls: input and output, which stand first, say most.
func rank(symbol string) int {
	if i := slices.Index(blockingCalls, libcName(symbol)); i >= 0 {
		return i
	}
	return len(blockingCalls)
}

// some lists names, the first few of many.
func some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// library is a shared library that the package links.
type library struct {
	name     string
	exports  map[string]bool
	blocking []string // what it imports of blockingCalls
}

// libraries reads the dynamic symbols of the libraries on the package's #cgo lines. Those of the system,
// and files that are no ELF, are left out.
func (g *generator) libraries(ctx context.Context, tc *toolchain) []library {
	flags := slices.Clone(g.pkg.ldFlags)
	if len(g.pkg.pkgConfig) > 0 {
		if out, err := g.pkg.run(ctx, "", append([]string{tc.pkgConfig, "--libs"}, g.pkg.pkgConfig...)...); err == nil {
			flags = append(flags, words(out)...)
		}
	}
	var dirs []string
	for _, f := range flags {
		if dir, ok := strings.CutPrefix(f, "-L"); ok && dir != "" {
			dirs = append(dirs, dir)
		}
	}
	var list []library
	for _, f := range flags {
		name, ok := strings.CutPrefix(f, "-l")
		if !ok || slices.Contains([]string{"c", "m", "pthread", "dl", "rt"}, name) {
			continue
		}
		file := ""
		for _, dir := range dirs {
			if p := filepath.Join(dir, "lib"+name+".so"); file == "" && exists(p) {
				file = p
			}
		}
		if file == "" {
			out, err := tc.run(ctx, "", append(slices.Clone(tc.cc), "-print-file-name=lib"+name+".so")...)
			if file = strings.TrimSpace(out); err != nil || !filepath.IsAbs(file) {
				continue
			}
		}
		if l, ok := readLibrary(file); ok {
			list = append(list, l)
		}
	}
	return list
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// readLibrary reads the dynamic symbols of a shared library.
func readLibrary(file string) (library, bool) {
	l := library{name: filepath.Base(file), exports: map[string]bool{}}
	f, err := elf.Open(file)
	if err != nil {
		return l, false
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return l, false
	}
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF:
			l.exports[s.Name] = true
		case slices.Contains(blockingCalls, libcName(s.Name)):
			l.blocking = append(l.blocking, s.Name)
		}
	}
	slices.Sort(l.blocking)
	return l, true
}
