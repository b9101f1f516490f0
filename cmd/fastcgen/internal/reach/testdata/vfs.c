// Calls through pointers, in the ways of libraries. TestGraph says where each gets to.
typedef unsigned long size;
long pwrite(int, const void *, size, long);
long read(int, void *, size);
int fsync(int), close(int), usleep(unsigned), pthread_mutex_lock(void *);
void qsort(void *, size, size, int (*)(const void *, const void *));

// The methods of a file stand in a table, and those of the system in one that tests may change.
typedef struct file file;
struct methods {
	int version;
	int (*close)(file *);
	int (*put)(file *, const char *, int, long);
	int (*sync)(file *, int);
	int (*length)(file *, long *);
};
struct file {
	const struct methods *methods;
	int fd;
	long length;
};
static struct {
	const char *name;
	void *current, *first;
} calls[] = {{"close", (void *)close, 0}, {"pwrite", (void *)pwrite, 0}, {"fsync", (void *)fsync, 0}};
#define os_close ((int (*)(int))calls[0].current)
#define os_pwrite ((long (*)(int, const void *, size, long))calls[1].current)
#define os_fsync ((int (*)(int))calls[2].current)

static int disk_close(file *f) { return os_close(f->fd); }
static int disk_put(file *f, const char *p, int n, long at) { return (int)os_pwrite(f->fd, p, n, at); }
static int disk_sync(file *f, int flags) { return os_fsync(f->fd + flags); }
static int disk_length(file *f, long *n) { return (int)(*n = f->length); }
static int memory_put(file *f, const char *p, int n, long at) { return f->fd + p[n] + (int)at; }
static int memory_sync(file *f, int flags) { return f->fd + flags; }
static const struct methods disk = {1, disk_close, disk_put, disk_sync, disk_length};
static const struct methods memory = {1, 0, memory_put, memory_sync, disk_length};
void file_open(file *f, int where) { f->methods = where ? &disk : &memory; }
static int file_write(file *f, const char *p, int n, long at) { return f->methods->put(f, p, n, at); }
int file_step(file *f) { return file_write(f, "a", 1, f->length); }
int file_sync(file *f) { return f->methods->sync(f, 0); }
long file_length(file *f) {
	long n;
	return f->methods->length(f, &n) ? n : 0;
}
int file_fd(file *f) { return f->fd; }

// Functions at the offset of put in an array of structs, which take something else.
typedef struct { void *context; } call;
struct function { const char *name; int arguments; void (*run)(call *, int, void **); };
static void run_length(call *c, int n, void **v) { c->context = v[n]; }
static void run_sleep(call *c, int n, void **v) { usleep(n); }
static struct function functions[] = {{"length", 1, run_length}, {"sleep", 1, run_sleep}};
void *function_run(int i, int n, void **v) {
	call c = {0};
	functions[i].run(&c, n, v);
	return c.context;
}

// Locks that are put into the middle of a struct when the program starts.
struct lock_methods { void *(*make)(int); void (*enter)(void *); };
static struct { int threads; struct lock_methods locks; } config;
static void thread_enter(void *l) { pthread_mutex_lock(l); }
static const struct lock_methods threads = {0, thread_enter};
static void locks_begin(void) {
	struct lock_methods *to = &config.locks;
	const struct lock_methods *from = &threads;
	to->make = from->make;
	to->enter = from->enter;
}
int column(file *f) {
	if (!config.threads) locks_begin();
	config.locks.enter(f);
	return f->fd;
}

// A function that is handed on, to one of these files and to the C library.
static int quiet(int n, const char *s) { return n + s[0]; }
static int loud(int n, const char *s) { return (int)read(n, (void *)s, 1); }
static int each(int (*f)(int, const char *), int n) { int (*g)(int, const char *) = f; return g(n, "a"); }
int each_of(int n) { return each(n ? quiet : loud, n); }
static int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static int compare_read(const void *a, const void *b) { return (int)read(0, (void *)a, 1) + *(const char *)b; }
void sort(char *s, size n) { qsort(s, n, 1, compare); }
void sort_read(char *s, size n) { qsort(s, n, 1, compare_read); }

// A pointer that comes from anywhere.
static int last(unsigned a, char *b, long c, char *d, long e) { return usleep(a + b[c] + d[e]); }
int (*last_of(void))(unsigned, char *, long, char *, long) { return last; }
int anything(char *s) { return last_of()(1, s, 2, s, 3); }

// A call by name.
static int snooze(int n) { return usleep(n); }
int nap(int n) { return snooze(n); }

// What is given to the C library, in a function with places to jump to and a variable that begins as 0.
static int passes;
void sort_all(char *s, size n) {
	for (size i = 0; i < n; i++) {
		passes++;
		qsort(s, i, 1, compare);
	}
}
