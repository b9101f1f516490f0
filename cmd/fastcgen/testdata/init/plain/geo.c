#include <stdlib.h>
#include <unistd.h>
#include "geo.h"

struct index_s { unsigned used, size; uint32_t *keys; };

index_t *index_new(int size) {
	index_t *x = calloc(1, sizeof *x);
	x->keys = calloc((size_t)size, sizeof *x->keys);
	x->size = (unsigned)size;
	return x;
}
int index_open(index_t **out, int size) {
	*out = index_new(size);
	return *out == NULL;
}
int index_put(index_t *x, uint32_t key) {
	if (x->used == x->size)
		return -1;
	x->keys[x->used++] = key;
	return 0;
}
unsigned index_size(const index_t *x) { return x->used; }
int index_save(index_t *x, int fd) { return (int)write(fd, x->keys, x->used * sizeof *x->keys); }
void index_free(index_t *x) {
	free(x->keys);
	free(x);
}
