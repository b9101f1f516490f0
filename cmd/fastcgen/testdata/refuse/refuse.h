// Functions and types that fastcgen refuses, in one way or another.
#include <complex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define R_PI 3.14159265358979
#define R_WIDE 1000
enum r_mode { R_A, R_B };
struct r_point { double x, y; };
typedef struct { int32_t id; } r_item;
struct r_hidden;
typedef float r_float4 __attribute__((vector_size(16)));
typedef double r_wide __attribute__((aligned(32)));

int8_t r_i8(int8_t a);
int16_t r_i16(int16_t a);
int32_t r_i32(int32_t a);
int64_t r_i64(int64_t a);
uint32_t r_u32(uint32_t a);
uint64_t r_u64(uint64_t a);
float r_f32(float a);
double r_f64(double a);
bool r_bool(bool a);
enum r_mode r_mode(enum r_mode a);
char r_char(char a);
long double r_ld(long double a);
double complex r_complex(double complex a);
__int128 r_i128(__int128 a);
r_float4 r_vector(r_float4 a);
double r_wide_sum(const r_wide *a, size_t n);
void r_void(void);
int r_noproto();
int r_printf(const char *format, ...);
int r_valist(const char *format, va_list ap);
void r_each(void (*f)(int), int n);
void (*r_getter(void))(int);
double r_sum(const double *a, size_t n);
double r_sum8(const double *a, uint8_t n);
void r_write(char *s, size_t n);
void r_text(const char *s);
void r_longs(const long *s);
void r_unsigned(const uint32_t *s, size_t n);
void r_scale(float *x, size_t n);
double r_grid(const double m[2][2]);
float r_lanes(const r_float4 *v);
void r_fixed(int32_t *x);
void r_strings(const char **s, size_t n);
struct r_point r_mid(struct r_point a, struct r_point b);
void r_move(struct r_point *p);
r_item r_make(int32_t id);
double *r_buffer(void);
const char *r_name(void);
struct r_hidden *r_open(void);
int r_close(struct r_hidden *h);
int r_out(int32_t *a, double *b);
int r_in(const int32_t *a);
int r_openp(struct r_hidden **h);
extern int r_variable;

union r_union { int i; float f; };
union r_union r_u(union r_union u);
struct r_bits { unsigned a : 3, b : 5; };
struct r_ptr { int *p; };
struct r_fn { int (*hook)(int); };
struct r_flex { int n; int tail[]; };
struct r_anon { int a; struct { int b; }; };
struct r_inner { int a; };
struct r_outer { struct r_inner in; };
struct r_haunion { union r_union u; };
struct r_ld { long double x; };
struct r_packed { char c; int32_t n; } __attribute__((packed));
struct r_tail { int32_t n; char c; } __attribute__((packed));
struct r_aligned { int32_t n[4]; } __attribute__((aligned(16)));
struct r_field_aligned { _Alignas(16) int32_t n; };
struct r_vec { r_float4 v; };
struct r_same { int a_b; int aB; };
struct r_empty {};
struct r_list { struct { int a; } items[3]; };
struct r_volatile { _Atomic int a; };
struct __attribute__((packed)) r_evenly { int32_t a, b; };
struct r_evenly r_evenly(void);
size_t r_size(int a);
void r_digest(const uint8_t *p, size_t n, uint8_t sum[static 32]);
double r_bytes(const void *p, size_t n);
enum { R_X } r_nameless(int a);
int r_nameless_struct(struct { int a; } *p);
int r_atomic(_Atomic int *a);
