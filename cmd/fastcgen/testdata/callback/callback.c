#include <string.h>
#include "callback.h"

extern void grow(int n); /* Go's */

int work(int n, long *out) {
	if (n > 0)
		grow(n);
	*out = 7;
	return n;
}

void fill(unsigned char *p, size_t n) {
	if (n > 16)
		grow(1);
	memset(p, 7, n);
}

void sums(int four[static 4]) {
	grow(1);
	for (int i = 0; i < 4; i++)
		four[i] = 7;
}
