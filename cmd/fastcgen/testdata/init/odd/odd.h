#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node { struct node *next; int value; };
typedef int (*visit)(int);
struct wide { long double x; };

static inline int each(visit v, int n) { return v ? v(n) : n; }
static inline int twice(int n) { return 2 * n; }
int old();
static inline void *block(size_t n) { return malloc(n); }
static inline int all(char **list, int n) { return list && n; }
static inline size_t at_number(uintptr_t p, size_t n) { return p ? n : 0; }
static inline double norm(const double *v) { return v[0] * v[0] + v[1] * v[1]; }
static inline int words(const uint8_t *p, size_t n) { return p[4 * n - 1]; }
static inline char *copy(int n) { char *s = malloc(8); snprintf(s, 8, "%d", n); return s; }
static inline const char *raw(void) { return "raw"; }
static inline int length(const struct node *n) { return n ? 1 : 0; }
static inline long double wide(struct wide w) { return w.x; }
static inline int both(const void *a, const void *b, int n) { return a && b ? n : 0; }
static inline int nothing(const void *p, int n) { return p ? 0 : n; }
