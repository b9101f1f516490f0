package main

import (
	"context"
	"fmt"
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

// blocking looks for calls that a leaf function must not make, in the preamble with its shims
// and in the package's own C files. Linked libraries cannot be looked into.
func blocking(ctx context.Context, tc *toolchain, d *declaration, pkg *goPackage, object string) []string {
	if !slices.ContainsFunc(d.funcs, func(f *funcDecl) bool { return !f.alwaysSlow() }) {
		return nil
	}
	at := fmt.Sprintf("%s:%d", d.path, d.preambleAt.Line)
	var list []string
	look := func(what, object string) {
		symbols, err := undefined(object)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into the object code of %s: %v", at, what, err))
			return
		}
		slices.Sort(symbols)
		for _, s := range slices.Compact(symbols) {
			switch {
			case isCallback(s):
				list = append(list, fmt.Sprintf("%s: warning: %s calls %s, which leads into Go: a leaf function that gets there ends the process", at, what, s))
			case slices.Contains(blockingCalls, libcName(s)):
				list = append(list, fmt.Sprintf("%s: warning: %s calls %s, which may block: "+
					"a leaf function must not; put //fastc:slow above those that get there (linked libraries are not looked into)", at, what, s))
			}
		}
	}
	look("the preamble", object)
	for _, name := range pkg.cFiles {
		object, err := tc.compileFile(ctx, name)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into %s for calls that block: %s", at, name, firstLine(err.Error())))
			continue
		}
		look(name, object)
	}
	return list
}
