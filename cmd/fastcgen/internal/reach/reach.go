// Package reach says which declared functions reach calls that a leaf function must not make.
//
// It reads the assembly that the C compiler writes for the preamble and the package's .c files, and
// lists the undefined symbols that each function reaches. A call through a pointer may go to any
// function whose address this code takes, and to any that Go exports. A library function may call
// anything. So no warning is not a proof.
package reach

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

type kind int

// The kinds, the gravest first.
const (
	intoGo  kind = iota // a function of Go, which is under //export
	jump                // a longjmp, and no setjmp
	blocks              // a call that may block
	library             // a function outside the package and the C library
)

// Warnings looks into source, which holds the preamble and the function shim, and into the
// package's C files. It returns a warning for each function and kind, and one for all functions of
// libraries.
func Warnings(
	ctx context.Context, tc *cc.Toolchain, pkg *cc.Package, d *declfile.File, source, shim string,
) []string {
	var list []string
	warn := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("%s:%d: warning: ", d.Path, d.PreambleAt.Line)+fmt.Sprintf(format, args...))
	}
	o := &outside{exports: exports(pkg), known: cLibrary(ctx, tc), weak: map[string]bool{}}
	g := &graph{nodes: map[string]*node{}, taken: maps.Clone(o.exports), weak: o.weak, found: o.kind}
	look := func(what, stdin string, args ...string) {
		text, err := tc.Assembly(ctx, stdin, args...)
		if err != nil {
			warn("cannot look into %s for calls that block: %s", what, cc.FirstLine(err.Error()))
			return
		}
		g.add(text)
	}
	look("the preamble", source, "-x", "c", "-")
	if g.units > 0 && g.nodes[shim] == nil { // Mach-O's assembly has other directives
		warn("the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
		return list
	}
	for _, name := range pkg.Build.CFiles {
		look(name, "", name)
	}
	var callers, called []string
	for _, f := range d.Funcs {
		byName, byPointer := g.reach(f.Call.CName)
		for k := range library + 1 {
			symbols, sure := o.of(k, byName), true
			if len(symbols) == 0 {
				symbols, sure = o.of(k, byPointer), false
			}
			switch {
			case len(symbols) == 0, f.AlwaysSlow() && (k != jump || !sure),
				k == jump && slices.ContainsFunc(byName, isLanding):
			case k == library:
				callers, called = append(callers, f.Name), append(called, symbols...)
			default:
				list = append(list, fmt.Sprintf("%s: warning: %s", f.Call.At, warning(f, k, symbols, sure)))
			}
		}
	}
	if len(called) > 0 {
		slices.Sort(called)
		warn("fastcgen cannot look into %s, outside this package, reached by %s; put //fastc:slow above what may "+
			"wait, take long or call back into Go", some(slices.Compact(called)), some(callers))
	}
	return list
}

func warning(f *declfile.Func, k kind, symbols []string, sure bool) string {
	what, by := f.Call.CName+" gets to ", ""
	if !sure {
		what, by = f.Call.CName+" may get to ", " by a pointer"
	}
	do := "put //fastc:slow above it"
	switch k {
	case intoGo:
		what += "the Go function " + some(symbols) + by
		do = "a leaf function that calls Go ends the process; " + do
	case jump:
		what += some(symbols) + by + ", and to no setjmp"
		do = "a jump over the frames of Go ends the process, by cgo too; " +
			"wrap it in a static inline function in the preamble that calls setjmp"
	default:
		what += some(symbols) + by + ", which may block"
	}
	if k != jump && f.Slow != nil {
		do += ", without a condition"
	}
	if !sure {
		do += ", unless you know that it does not"
	}
	return what + "; " + do
}

// outside knows the functions that the graph does not have.
type outside struct {
	exports map[string]bool
	known   map[string]bool
	weak    map[string]bool
}

// of returns the symbols of one kind, as C programs name them, the most telling first.
func (o *outside) of(k kind, symbols []string) []string {
	var names []string
	for _, s := range symbols {
		if of, ok := o.kind(s); ok && of == k && !slices.Contains(names, libcName(s)) {
			names = append(names, libcName(s))
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(slices.Index(blockingCalls, a), slices.Index(blockingCalls, b))
	})
	return names
}

// kind says what an undefined symbol is. ok is false if a leaf may call it.
func (o *outside) kind(symbol string) (k kind, ok bool) {
	name := libcName(symbol)
	switch {
	case isCallback(symbol) || o.exports[symbol]:
		return intoGo, true
	case slices.Contains(jumps, name):
		return jump, true
	case slices.Contains(blockingCalls, name):
		return blocks, true
	}
	ofCompiler := symbol[0] == '_'
	return library, len(o.known) > 0 && !o.known[symbol] && !o.weak[symbol] && !ofCompiler
}

func isLanding(symbol string) bool { return slices.Contains(landings, libcName(symbol)) }

// blockingCalls are functions of the C library that may wait for something other than the
// processor, the most telling first. malloc and free are not among them, because they hold their
// lock for nanoseconds and most libraries use them.
var blockingCalls = strings.Fields(`
	pwrite write pread read fsync fdatasync pwritev writev preadv readv fwrite fread fflush fputs fgets
	open openat fopen creat close sync syncfs msync flock lockf fcntl ioctl sendfile splice
	freopen fdopen fclose fgetc getc getchar getline getdelim fputc putc putchar puts
	printf fprintf vprintf vfprintf dprintf vdprintf perror scanf fscanf vscanf vfscanf
	opendir readdir closedir rename unlink mkdir rmdir stat lstat fstat access dlopen dlsym

	pthread_mutex_lock pthread_mutex_timedlock pthread_cond_wait pthread_cond_timedwait pthread_rwlock_rdlock
	pthread_rwlock_wrlock pthread_join pthread_barrier_wait pthread_spin_lock pthread_once
	mtx_lock mtx_timedlock cnd_wait cnd_timedwait thrd_join call_once
	sem_wait sem_timedwait semop futex syscall

	nanosleep clock_nanosleep sleep usleep thrd_sleep poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2
	kqueue kevent connect accept accept4 recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg
	pause sigsuspend sigwait sigwaitinfo sigtimedwait alarm
	wait waitpid wait3 wait4 waitid system popen pclose fork vfork
	getaddrinfo getnameinfo gethostbyname gethostbyaddr getpwnam getpwuid getgrnam getgrgid
	mq_send mq_receive msgrcv msgsnd getrandom getentropy`)

// A function that reaches one of jumps and none of landings leaves the frames of Go above it.
var (
	jumps    = []string{"longjmp", "_longjmp", "siglongjmp"}
	landings = []string{"setjmp", "_setjmp", "sigsetjmp"}
)

// callers are functions of the C library that call an argument.
var callers = strings.Fields(`qsort qsort_r bsearch lfind lsearch tsearch tfind tdelete twalk twalk_r tdestroy
	ftw nftw fts_open scandir glob atexit on_exit signal sigaction pthread_create pthread_once pthread_key_create
	pthread_atfork call_once thrd_create tss_create dl_iterate_phdr makecontext clone`)

func isCallback(symbol string) bool {
	return symbol == "crosscall2" || strings.HasPrefix(symbol, "_cgoexp_") || strings.HasPrefix(symbol, "_cgo_")
}

// libcName undoes what headers and compilers do to names: __read_chk is read, open64 is open,
// __isoc99_scanf is scanf.
func libcName(symbol string) string {
	s, _, _ := strings.Cut(symbol, "@")
	s = strings.TrimPrefix(s, "__isoc99_")
	s = strings.TrimPrefix(s, "__isoc23_")
	s = strings.TrimPrefix(strings.TrimSuffix(s, "_chk"), "__")
	if short := strings.TrimSuffix(s, "64"); slices.Contains(blockingCalls, short) {
		return short
	}
	return s
}

// cLibrary returns what the C library exports, or nothing if none of its files can be read.
func cLibrary(ctx context.Context, tc *cc.Toolchain) map[string]bool {
	all := map[string]bool{}
	for _, file := range []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libc.so"} {
		out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "-print-file-name="+file)...)
		if err != nil {
			continue
		}
		f, err := elf.Open(strings.TrimSpace(out))
		if err != nil {
			continue
		}
		symbols, _ := f.DynamicSymbols()
		f.Close()
		for _, s := range symbols {
			all[s.Name] = all[s.Name] || s.Section != elf.SHN_UNDEF
		}
	}
	return all
}

func exports(pkg *cc.Package) map[string]bool {
	names := map[string]bool{}
	for _, f := range pkg.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if name, ok := strings.CutPrefix(c.Text, "//export "); ok {
					names[strings.TrimSpace(name)] = true
				}
			}
		}
	}
	return names
}

func some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
