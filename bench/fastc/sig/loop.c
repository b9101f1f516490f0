// Apart from sig.c, or the compiler would put the functions into the loops.
#include "sig.h"

// Each call takes the result of the one before, or the compiler would drop calls.
int64_t sig_loop_add2(int64_t n) {
	int64_t sum = 0;
	while (n-- > 0) sum = sig_add2(sum, n);
	return sum;
}

int64_t sig_loop_add6(int64_t n) {
	int64_t sum = 0;
	while (n-- > 0) sum = sig_add6(sum, 2, 3, 4, 5, n);
	return sum;
}

double sig_loop_adddouble(int64_t n) {
	double sum = 0;
	while (n-- > 0) sum = sig_adddouble(sum, 2);
	return sum;
}

double sig_loop_dot(int64_t n) {
	double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {8, 7, 6, 5, 4, 3, 2, 1};
	while (n-- > 0) a[0] = sig_dot(a, b, 8) * 1e-3;
	return a[0];
}

double sig_loop_cross(int64_t n) {
	struct sig_vec v = {1, 2, 3}, w = {0.3, 0.2, 0.1};
	while (n-- > 0) v = sig_cross(v, w);
	return v.x;
}
