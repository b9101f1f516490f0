#include "odd.h"

int plain(int n) { return 2 * n + 1; }
int tells(int n) { return back(n) + 1; }

void box_set(box_t *b, told tell) { b->tell = tell; }
int box_tell(box_t *b, int n) { return b->tell(n); }
int box_count(const box_t *b) { return b->count; }

static box_t one;
box_t *box_of(void) { return &one; }
