#include "sig.h"

#include <time.h>

int64_t sig_add2(int64_t a, int64_t b) { return a + b; }

int64_t sig_add6(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
	return a + b + c + d + e + f;
}

double sig_adddouble(double a, double b) { return a + b; }

double sig_dot(const double *a, const double *b, size_t n) {
	double dot = 0;
	for (size_t i = 0; i < n; i++) dot += a[i] * b[i];
	return dot;
}

struct sig_vec sig_cross(struct sig_vec a, struct sig_vec b) {
	struct sig_vec v = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
	return v;
}

int64_t sig_spin(int64_t ns) {
	struct timespec from, now;
	int64_t turns = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		turns++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < ns);
	return turns;
}

static int *volatile nowhere;

void sig_crash(void) { *nowhere = 1; }

int32_t sig_spin_frame(void *frame) {
	sig_spin(*(int64_t *)frame);
	return 0;
}
