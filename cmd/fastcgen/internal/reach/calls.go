package reach

import (
	"context"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

// blockingCalls are functions of the C library that may wait for something other than the
// processor, the most telling ones first. malloc and free are not among them, because their lock is
// held for nanoseconds and every second library uses them.
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

// A function that reaches one of jumps and none of landings leaves itself, and the frames of Go
// above it.
var (
	jumps    = []string{"longjmp", "_longjmp", "siglongjmp"}
	landings = []string{"setjmp", "_setjmp", "sigsetjmp"}
)

// callers are functions of the C library that call a function whose address they get.
var callers = strings.Fields(`qsort qsort_r bsearch lfind lsearch tsearch tfind tdelete twalk twalk_r tdestroy
	ftw nftw fts_open scandir glob atexit on_exit signal sigaction pthread_create pthread_once pthread_key_create
	pthread_atfork call_once thrd_create tss_create dl_iterate_phdr makecontext clone`)

func isCallback(symbol string) bool {
	return symbol == "crosscall2" || strings.HasPrefix(symbol, "_cgoexp_") || strings.HasPrefix(symbol, "_cgo_")
}

// libcName undoes what headers and compilers do to the names of the C library's functions:
// __read_chk is read, open64 is open, __isoc99_scanf is scanf.
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

// cLibrary returns what the C library exports. It is empty if none of its files can be read.
func cLibrary(ctx context.Context, tc *cc.Toolchain) map[string]bool {
	all := map[string]bool{}
	for _, file := range []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libc.so"} {
		out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "-print-file-name="+file)...)
		if err != nil {
			continue
		}
		f, err := elf.Open(strings.TrimSpace(out))
		if err != nil {
			continue // it is not there, or a script for the linker
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

// Some lists names, the first few of many.
func Some(names []string) string {
	const most = 3
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
