package machine

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Touch takes so many bytes of memory, writes to each page and gives them back, and returns what a
// page took. A virtual machine's host may be slow to find memory for it, at the first touch; what
// runs next then finds it there.
func Touch(ctx context.Context, bytes int64) (perPage time.Duration, err error) {
	page := int64(os.Getpagesize())
	pages := max(bytes/page, 1)
	b, err := syscall.Mmap(-1, 0, int(pages*page), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for i := range pages {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		b[i*page] = 1
	}
	perPage = time.Since(start) / time.Duration(pages)
	if uerr := syscall.Munmap(b); err == nil {
		err = uerr
	}
	return perPage, err
}
