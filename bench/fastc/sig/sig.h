// The functions of the benchmark: so small that the call is what is measured.
#include <stddef.h>
#include <stdint.h>

struct sig_vec { double x, y, z; };

int64_t sig_add2(int64_t a, int64_t b);
int64_t sig_add6(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f);
double sig_adddouble(double a, double b);
double sig_dot(const double *a, const double *b, size_t n);
struct sig_vec sig_cross(struct sig_vec a, struct sig_vec b);

// n calls of each from C.
int64_t sig_loop_add2(int64_t n);
int64_t sig_loop_add6(int64_t n);
double sig_loop_adddouble(int64_t n);
double sig_loop_dot(int64_t n);
double sig_loop_cross(int64_t n);

// sig_spin computes for ns nanoseconds.
int64_t sig_spin(int64_t ns);
// sig_spin_frame does so for the int64_t at frame: the form that fastc calls.
int32_t sig_spin_frame(void *frame);
// sig_crash ends in a segmentation fault.
void sig_crash(void);
