#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { double x, y; } point;
struct box { point low, high; };
enum mode { MODE_FAST, MODE_EXACT = 7 };
typedef struct index_s index_t;

static inline int geo_add(int a, int b) { return a + b; }
static inline double geo_sum(const double *v, size_t n) {
	double s = 0;
	for (size_t i = 0; i < n; i++)
		s += v[i];
	return s;
}
static inline size_t geo_pack(void *dst, size_t cap, const void *src, size_t n) {
	if (cap < n)
		n = cap;
	memcpy(dst, src, n);
	return n;
}
static inline void geo_digest(uint8_t *sum, const uint8_t *p, size_t n) {
	memset(sum, 0, 4);
	for (size_t i = 0; i < n; i++)
		sum[i % 4] ^= p[i];
}
static inline int geo_parse(const char *s, long *value) {
	*value = 0;
	for (; *s >= '0' && *s <= '9'; s++)
		*value = *value * 10 + (*s - '0');
	return *s == 0;
}
static inline int geo_root(int n) {
	if (n < 0) {
		errno = EDOM;
		return 0;
	}
	int r = 0;
	while ((r + 1) * (r + 1) <= n)
		r++;
	return r;
}
static inline const char *geo_version(void) { return "1.2"; }
static inline point geo_middle(struct box b) { return (point){(b.low.x + b.high.x) / 2, (b.low.y + b.high.y) / 2}; }
static inline bool geo_within(const struct box *b, point p) { return b->low.x <= p.x && p.x <= b->high.x && b->low.y <= p.y && p.y <= b->high.y; }
static inline int geo_mode(enum mode m) { return (int)m; }
static inline int geo_count(const unsigned char *p, size_t *n) {
	int found = 0;
	for (size_t i = 0; i < *n; i++)
		found += p[i] == ' ';
	*n = (size_t)found;
	return 0;
}
static inline double geo_total(const point *p, int n) {
	double s = 0;
	for (int i = 0; i < n; i++)
		s += p[i].x + p[i].y;
	return s;
}
index_t *index_new(int size);
int index_open(index_t **out, int size);
int index_put(index_t *x, uint32_t key);
unsigned index_size(const index_t *x);
int index_save(index_t *x, int fd);
void index_free(index_t *x);
