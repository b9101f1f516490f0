// A little C library with a function for every form that fastcgen takes.
#ifndef VEC_H
#define VEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum v_mode { V_SLOW, V_FAST = 7 };
enum v_sign { V_MINUS = -1, V_ZERO, V_PLUS };
#define V_LIMIT 1000

struct v_point { double x, y; };
typedef struct { int32_t id; char tag; struct v_point at; uint8_t key[3]; enum v_mode mode; bool on; int16_t grid[2][3]; } v_item;
struct v_range { int16_t lo, hi; };
struct v_nest { char c; struct v_range range; struct v_point corner[2]; };
typedef struct v_ctx v_ctx;

double v_dot(const double *a, const double *b, size_t n);
int v_div(int a, int b, int *q, int *r);
int8_t v_i8(int8_t a);
int16_t v_i16(short a);
int64_t v_sum(int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f, uint32_t g, uint64_t h);
unsigned long v_word(unsigned long a, long b, long long c, uintptr_t d);
float v_half(float x);
bool v_not(bool b);
enum v_mode v_flip(enum v_mode m);
enum v_sign v_signum(int x);
char v_upper(char c);
double v_trace(const double m[2][2]);
void v_copy(uint8_t *restrict to, const uint8_t *restrict from, size_t n);
size_t v_count(const char *s, size_t n, char c);
uint32_t v_bytes(const void *p, uint32_t n);
void v_scale(float *x, int n, float by);
void v_incr(int64_t *x);
void v_rotate(int32_t *x);
int32_t v_max4(const int32_t *x);
struct v_point v_mid(struct v_point a, struct v_point b);
void v_move(struct v_point *p, double dx, double dy);
double v_path(const struct v_point *p, size_t n);
v_item v_make(int32_t id, enum v_mode mode);
int32_t v_check(const v_item *i);
struct v_nest v_nested(struct v_nest n);
void v_digest(const uint8_t *p, size_t n, uint8_t *sum);
void v_box(const struct v_point *p, size_t n, struct v_point *lo, struct v_point *hi);
v_ctx *v_new(int start);
int v_open(v_ctx **out, int start);
int v_next(v_ctx *c);
void v_free(v_ctx *c);
void v_nop(void);
int v_fill(int *x, size_t n, int v, bool twice, double scale, void *hook);
int v_noerrno(int x);
double v_root(double x);
struct v_fixed { const int32_t k; int32_t n; };
typedef struct v_handle v_handle;
enum { f = 3, frame, ret = 5 };
struct v_fixed v_fixed(int32_t k);
v_handle *v_handle_one(void);
void v_handle_out(v_handle **h);
int64_t v_handle_use(const v_handle *h);
int64_t v_wide(int64_t a);
#define v_wide(a) ((int)(a))
uint64_t v_u64(uint64_t a);
int64_t v_s64(int64_t a);
double v_same(double a);
void v_state(uint32_t s[static 4]);
int v_trim(char *s, size_t *n, bool *cut, struct v_point *at, int16_t row[static 2], v_ctx **next);
#define V_STATES 3
#define V_CTX ((v_ctx *)2)
const char *v_name(enum v_mode m);
const unsigned char *v_word_of(int n);
void v_last(int n);
int v_select(int n, int (*hook)(int));
#endif
