// Package reach says which declared functions reach calls that a leaf function must not make.
//
// It reads the assembly that the C compiler writes for the preamble and the package's .c files, and
// lists the undefined symbols that each function reaches:
//
//   - a way back into Go (a function under //export), or a longjmp without a setjmp;
//   - a call of the C library that may block;
//   - any other function outside these files, such as one of a linked library.
//
// A call through a pointer may go to any function whose address this code takes, and to any
// function that Go exports. A library function may call anything. So no warning is not a proof.
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
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

type Kind int

// The kinds, the gravest first.
const (
	IntoGo  Kind = iota // a function of Go
	Jumps               // a longjmp, and no setjmp
	Blocks              // a call that may block
	Library             // a function outside the package and the C library
)

// Finding is what a declared function reaches, of one kind.
type Finding struct {
	Func    *decl.Func
	Kind    Kind
	Sure    bool // by calls by name; otherwise through a pointer
	Symbols []string
	Way     string
}

type Report struct {
	Findings []Finding
	Unseen   []string
	at       string
}

// Search looks into source, which holds the preamble and the shims, and into the package's C files.
// shim is a function in source.
func Search(
	ctx context.Context, tc *cc.Toolchain, pkg *cc.Package, d *decl.File, source, shim string,
) *Report {
	r := &Report{at: fmt.Sprintf("%s:%d", d.Path, d.PreambleAt.Line)}
	unseen := func(format string, args ...any) {
		r.Unseen = append(r.Unseen, r.at+": warning: "+fmt.Sprintf(format, args...))
	}
	o := &outside{exports: exports(pkg), known: cLibrary(ctx, tc), weak: map[string]bool{}}
	g := &graph{nodes: map[string]*node{}, taken: maps.Clone(o.exports), weak: o.weak, found: o.kind}
	look := func(what, stdin string, args ...string) {
		text, err := tc.Assembly(ctx, stdin, args...)
		if err != nil {
			unseen("cannot look into %s for calls that block: %s", what, cc.FirstLine(err.Error()))
			return
		}
		g.add(text)
	}
	look("the preamble", source, "-x", "c", "-")
	if g.units > 0 && g.nodes[shim] == nil { // Mach-O's assembly has other directives
		unseen("the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
		return r
	}
	for _, name := range pkg.CFiles {
		look(name, "", name)
	}
	for _, f := range d.Funcs {
		r.Findings = append(r.Findings, g.findings(f, o)...)
	}
	return r
}

// outside knows the functions that the graph does not have.
type outside struct {
	exports map[string]bool
	known   map[string]bool
	weak    map[string]bool
}

// kind says what an undefined symbol is. ok is false if a leaf may call it.
func (o *outside) kind(symbol string) (k Kind, ok bool) {
	name := libcName(symbol)
	switch {
	case isCallback(symbol) || o.exports[symbol]:
		return IntoGo, true
	case slices.Contains(jumps, name):
		return Jumps, true
	case slices.Contains(blockingCalls, name):
		return Blocks, true
	}
	ofCompiler := symbol[0] == '_'
	return Library, len(o.known) > 0 && !o.known[symbol] && !o.weak[symbol] && !ofCompiler
}

// findings returns one finding for each kind. It leaves out ways through a pointer if there is
// another way of that kind.
func (g *graph) findings(f *decl.Func, o *outside) []Finding {
	found := [Library + 1][]*step{}
	lands := false
	for _, s := range g.reach(f.Call.CName) {
		if k, ok := o.kind(s.key); ok {
			found[k] = append(found[k], s)
		}
		lands = lands || s.sure && slices.Contains(landings, libcName(s.key))
	}
	if lands {
		found[Jumps] = nil
	}
	var list []Finding
	for k, steps := range found {
		one := Finding{Func: f, Kind: Kind(k), Sure: slices.ContainsFunc(steps, func(s *step) bool { return s.sure })}
		steps = slices.DeleteFunc(steps, func(s *step) bool { return s.sure != one.Sure })
		if len(steps) == 0 {
			continue
		}
		slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(telling(a), telling(b)) })
		one.Way = g.way(steps[0])
		for _, s := range steps {
			if name := libcName(s.key); !slices.Contains(one.Symbols, name) {
				one.Symbols = append(one.Symbols, name)
			}
		}
		list = append(list, one)
	}
	return list
}

func telling(s *step) int { return slices.Index(blockingCalls, libcName(s.key)) }

// String says what the function reaches, without a place or advice.
func (f Finding) String() string {
	name, symbols := f.Func.Call.CName, Some(f.Symbols)
	may, by := " gets to ", ""
	if !f.Sure {
		may, by = " may get to ", " by a pointer"
	}
	switch f.Kind {
	case IntoGo:
		return name + may + "the Go function " + symbols + by
	case Jumps:
		return name + may + symbols + by + ", and to no setjmp"
	case Blocks:
		return name + may + symbols + by + ", which may block"
	}
	return name + may + symbols + by + ", which is outside this package"
}

// Warnings returns a warning for each function and kind, and one for all functions of libraries.
func (r *Report) Warnings() []string {
	list := slices.Clone(r.Unseen)
	var callers, called []string
	for _, f := range r.Findings {
		slow, do := f.Func.AlwaysSlow(), "put //fastc:slow above it"
		switch {
		case slow && (f.Kind >= Blocks || !f.Sure):
			continue
		case f.Kind == Library:
			callers, called = append(callers, f.Func.Name), append(called, f.Symbols...)
			continue
		case f.Kind == Jumps:
			do = "a jump over the frames of Go ends the process, by cgo too; " +
				"wrap it in a static inline function in the preamble that calls setjmp"
		case slow:
			list = append(list, fmt.Sprintf("%s: note: %s, by ordinary cgo", f.Func.Call.At, f))
			continue
		case f.Kind == IntoGo:
			do = "a leaf function that calls Go ends the process; " + do
		}
		if f.Kind != Jumps && f.Func.Slow != nil {
			do += ", without a condition"
		}
		if !f.Sure {
			do += ", unless you know that it does not"
		}
		list = append(list, fmt.Sprintf("%s: warning: %s; %s\n\t%s", f.Func.Call.At, f, do, f.Way))
	}
	if len(called) > 0 {
		slices.Sort(called)
		list = append(list, fmt.Sprintf("%s: warning: fastcgen cannot look into %s, outside this package, reached by "+
			"%s; put //fastc:slow above what may wait, take long or call back into Go",
			r.at, Some(slices.Compact(called)), Some(callers)))
	}
	return list
}

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

func Some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
