typedef int (*told)(int);
typedef struct { told tell; int count; } box_t;

int back(int n);       // of Go
int back_later(int n); // of Go

int plain(int n);
int tells(int n);
void box_set(box_t *b, told tell);
int box_tell(box_t *b, int n);
int box_count(const box_t *b);
box_t *box_of(void);
