//go:build cgo

#include "matrix.h"

void matrix_multiply(const double *a, const double *b, double *restrict out, int64_t n, int64_t loops)
{
	for (int64_t i = 0; i < n * n; i++)
		out[i] = 0;
	for (; loops > 0; loops--)
		for (int64_t i = 0; i < n; i++)
			for (int64_t k = 0; k < n; k++) {
				const double x = a[i * n + k];

				for (int64_t j = 0; j < n; j++)
					out[i * n + j] += x * b[k * n + j];
			}
}

int64_t matrix_add(int64_t a, int64_t b)
{
	return a + b;
}
