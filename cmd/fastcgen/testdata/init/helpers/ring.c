#include "ring.h"
#include <string.h>

void ring_add(ring_t *sum, const ring_t *a, const ring_t *b) {
	for (int i = 0; i < 4; i++) sum->limb[i] = a->limb[i] + b->limb[i];
}

void ring_unpack(ring_t *r, const unsigned char *bytes) { memcpy(r, bytes, sizeof *r); }
void ring_pack(unsigned char *bytes, const ring_t *r) { memcpy(bytes, r, sizeof *r); }

void ring_many(ring_t *r, const ring_t *list, size_t n) {
	for (size_t i = 0; i < n; i++) ring_add(r, r, list + i);
}

void ring_more(ring_t *r, const ring_t *list, size_t n) { ring_many(r, list, n); }

void ring_first(ring_t *r, const ring_t *list) { *r = list[0]; }

void ring_hash(ring_t *r, const unsigned char *text, size_t n, const unsigned char *salt, size_t m) {
	for (size_t i = 0; i < n; i++) r->limb[i % 4] += text[i];
	for (size_t i = 0; i < m; i++) r->limb[i % 4] -= salt[i];
}

void ring_other(ring_t *r, const unsigned char *text, size_t n) { ring_hash(r, text, n, NULL, 0); }
void ring_late(ring_t *r, const unsigned char *text, size_t n) { ring_hash(r, text, n, NULL, 0); }

int ring_zero(const ring_t *r) {
	if (r == NULL) return 1;
	return !(r->limb[0] | r->limb[1] | r->limb[2] | r->limb[3]);
}

struct view { const unsigned char *text; size_t n; };

static view_t one, none;

view_t *ring_view(const unsigned char *text, size_t n) {
	one.text = text;
	one.n = n;
	return &one;
}

view_t *ring_none(void) { return &none; }
size_t view_size(const view_t *v) { return v->n; }
