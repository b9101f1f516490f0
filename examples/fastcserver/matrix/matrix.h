#ifndef MATRIX_H
#define MATRIX_H

#include <stdint.h>

// matrix_multiply adds a times b to out, loops times, after it has set out to zero. All three are
// n x n, row by row; out overlaps neither of the others.
void matrix_multiply(const double *a, const double *b, double *out, int64_t n, int64_t loops);

// matrix_add returns a + b: a call that does next to nothing.
int64_t matrix_add(int64_t a, int64_t b);

#endif
