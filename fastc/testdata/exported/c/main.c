// A program in C that calls a Go library that calls C through fastc: from its main thread and
// from another.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern char *CheckJSON(void);

static void *run(void *arg) {
	(void)arg;
	return CheckJSON();
}

int main(void) {
	pthread_t thread;
	void *text;
	free(CheckJSON());
	if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, &text) != 0) return 3;
	puts(text);
	free(text);
	return 0;
}
