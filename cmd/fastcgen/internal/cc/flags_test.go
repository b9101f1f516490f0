package cc

import (
	"strings"
	"testing"
)

// TestFlags holds the flags of #cgo lines to those that choose how to compile.
func TestFlags(t *testing.T) {
	for flags, refused := range map[string]bool{
		"-O2 -g -Wall -Wextra -Werror -std=gnu11 -pthread -w -pedantic": false,
		"-DA -DB=1 -D C=2 -UA -I. -I ${SRCDIR}/x -isystem /usr/include": false,
		"-march=native -mavx2 -m64 -mno-sse4.2 -fno-strict-aliasing -fPIC -fsanitize=address -fvisibility=hidden " +
			"-include x.h": false,
		"-wrapper x": true, "-fplugin=x.so": true, "-fpass-plugin=x.so": true, "-Wa,-a=x": true, "-Wl,-x": true,
		"-B.": true, "@x": true, "-I@x": true, "-I @x": true,
		"-specs=x": true, "-o x": true, "x.c": true, "-Xclang -load": true, "-mllvm -x": true, "-MF x": true,
		"-save-temps": true, "-fdump-tree-all": true, "-include -x": true,
		"-fmodule-mapper=|x": true, "-fprofile-use=x": true, "-D": true,
	} {
		if err := checkFlags("CFLAGS", "CGO_CFLAGS", "", "", strings.Fields(flags)); (err != nil) != refused {
			t.Errorf("%s: %v", flags, err)
		}
	}
}
