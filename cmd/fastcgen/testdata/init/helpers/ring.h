#include <stddef.h>
#include <stdint.h>

typedef struct { int64_t limb[4]; } ring_t;

void ring_add(ring_t *sum, const ring_t *a, const ring_t *b);
void ring_unpack(ring_t *r, const unsigned char *bytes);
void ring_pack(unsigned char *bytes, const ring_t *r);
void ring_many(ring_t *r, const ring_t *list, size_t n);
void ring_more(ring_t *r, const ring_t *list, size_t n);
void ring_first(ring_t *r, const ring_t *list);
void ring_hash(ring_t *r, const unsigned char *text, size_t n, const unsigned char *salt, size_t m);
void ring_other(ring_t *r, const unsigned char *text, size_t n);
void ring_late(ring_t *r, const unsigned char *text, size_t n);
typedef struct view view_t;
view_t *ring_view(const unsigned char *text, size_t n);
view_t *ring_none(void);
size_t view_size(const view_t *v);

int ring_zero(const ring_t *r);
