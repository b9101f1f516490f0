#include "vec.h"

#include <errno.h>
#include <stdlib.h>

struct v_ctx { int n; };

double v_dot(const double *a, const double *b, size_t n) {
	double s = 0;
	for (size_t i = 0; i < n; i++) s += a[i] * b[i];
	return s;
}
int v_div(int a, int b, int *q, int *r) {
	if (b == 0) {
		errno = EDOM;
		return -1;
	}
	*q = a / b;
	*r = a % b;
	return 0;
}
int8_t v_i8(int8_t a) { return a - 1; }
int16_t v_i16(short a) { return a + 1; }
int64_t v_sum(int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f, uint32_t g, uint64_t h) {
	return a + b + c + d + e + f + g + (int64_t)h;
}
unsigned long v_word(unsigned long a, long b, long long c, uintptr_t d) { return a + (unsigned long)b + (unsigned long)c + d; }
float v_half(float x) { return x / 2; }
bool v_not(bool b) { return !b; }
enum v_mode v_flip(enum v_mode m) { return m == V_FAST ? V_SLOW : V_FAST; }
enum v_sign v_signum(int x) { return x < 0 ? V_MINUS : x > 0 ? V_PLUS : V_ZERO; }
char v_upper(char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
double v_trace(const double m[2][2]) { return m[0][0] + m[1][1]; }
void v_copy(uint8_t *restrict to, const uint8_t *restrict from, size_t n) {
	for (size_t i = 0; i < n; i++) to[i] = from[i];
}
size_t v_count(const char *s, size_t n, char c) {
	size_t k = 0;
	for (size_t i = 0; i < n; i++) k += s[i] == c;
	return k;
}
uint32_t v_bytes(const void *p, uint32_t n) {
	uint32_t s = 0;
	for (uint32_t i = 0; i < n; i++) s += ((const uint8_t *)p)[i];
	return s;
}
void v_scale(float *x, int n, float by) {
	for (int i = 0; i < n; i++) x[i] *= by;
}
void v_incr(int64_t *x) { ++*x; }
void v_rotate(int32_t *x) {
	int32_t first = x[0];
	x[0] = x[1], x[1] = x[2], x[2] = x[3], x[3] = first;
}
int32_t v_max4(const int32_t *x) {
	int32_t m = x[0];
	for (int i = 1; i < 4; i++) m = x[i] > m ? x[i] : m;
	return m;
}
struct v_point v_mid(struct v_point a, struct v_point b) { return (struct v_point){(a.x + b.x) / 2, (a.y + b.y) / 2}; }
void v_move(struct v_point *p, double dx, double dy) { p->x += dx, p->y += dy; }
double v_path(const struct v_point *p, size_t n) {
	double s = 0;
	for (size_t i = 1; i < n; i++) {
		double dx = p[i].x - p[i - 1].x, dy = p[i].y - p[i - 1].y;
		s += (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
	}
	return s;
}
v_item v_make(int32_t id, enum v_mode mode) {
	v_item i = {.id = id, .tag = 'v', .at = {1.5, -2.5}, .key = {1, 2, 3}, .mode = mode, .on = true, .grid = {{1, 2, 3}, {4, 5, 6}}};
	return i;
}
int32_t v_check(const v_item *i) {
	return i->id + i->tag + (int)i->at.x + (int)i->at.y + i->key[0] + i->key[1] + i->key[2] + (int)i->mode + i->on;
}
struct v_nest v_nested(struct v_nest n) {
	int16_t lo = n.range.lo;
	n.c++, n.range.lo = n.range.hi, n.range.hi = lo;
	n.corner[1].y = n.corner[0].x;
	return n;
}
void v_digest(const uint8_t *p, size_t n, uint8_t *sum) {
	for (int i = 0; i < 4; i++) sum[i] = 0;
	for (size_t i = 0; i < n; i++) sum[i % 4] ^= p[i];
}
void v_box(const struct v_point *p, size_t n, struct v_point *lo, struct v_point *hi) {
	*lo = *hi = p[0];
	for (size_t i = 1; i < n; i++) {
		if (p[i].x < lo->x) lo->x = p[i].x;
		if (p[i].y < lo->y) lo->y = p[i].y;
		if (p[i].x > hi->x) hi->x = p[i].x;
		if (p[i].y > hi->y) hi->y = p[i].y;
	}
}
v_ctx *v_new(int start) {
	v_ctx *c = malloc(sizeof *c);
	if (c) c->n = start;
	return c;
}
int v_open(v_ctx **out, int start) { return (*out = v_new(start)) ? 0 : -1; }
int v_next(v_ctx *c) { return c->n++; }
void v_free(v_ctx *c) { free(c); }
void v_nop(void) {}
int v_fill(int *x, size_t n, int v, bool twice, double scale, void *hook) {
	for (size_t i = 0; i < n; i++) x[i] = (int)(v * (twice ? 2 : 1) * scale) + (hook != 0);
	return (int)n;
}
int v_noerrno(int x) { return x; }
double v_root(double x) {
	if (x < 0) {
		errno = EDOM;
		return 0;
	}
	double r = x > 1 ? x : 1;
	for (int i = 0; i < 60; i++) r = (r + x / r) / 2;
	return r;
}
int v_select(int n, int (*hook)(int)) { return hook ? hook(n) : n; }
struct v_fixed v_fixed(int32_t k) { return (struct v_fixed){k, k + 1}; }
v_handle *v_handle_one(void) { return (v_handle *)1; }
void v_handle_out(v_handle **h) { *h = (v_handle *)1; }
int64_t v_handle_use(const v_handle *h) { return (int64_t)(intptr_t)h; }
int64_t (v_wide)(int64_t a) { return a; }
uint64_t v_u64(uint64_t a) { return a; }
int64_t v_s64(int64_t a) { return a; }
double v_same(double a) { return a; }
void v_state(uint32_t s[static 4]) {
	for (uint32_t i = 0; i < 4; i++) s[i] = i * i;
}
int v_trim(char *s, size_t *n, bool *cut, struct v_point *at, int16_t row[static 2], v_ctx **next) {
	size_t all = *n;
	while (*n > 0 && s[*n - 1] == ' ') --*n;
	*cut = !*cut && *n < all;
	at->x += 1;
	row[1] = (int16_t)(row[0] + row[1]);
	*next = *next == (v_ctx *)0 ? (v_ctx *)1 : *next;
	return *n == 0 ? -1 : 0;
}
const char *v_name(enum v_mode m) { return m == V_FAST ? "fast" : m == V_SLOW ? "" : NULL; }
const unsigned char *v_word_of(int n) {
	static unsigned char buffer[2];
	buffer[0] = (unsigned char)('a' + n);
	return n < 0 ? NULL : buffer;
}
void v_last(int n) {
	if (n < 0) errno = ERANGE;
}
