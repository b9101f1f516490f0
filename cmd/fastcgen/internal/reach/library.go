package reach

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

// library is a file that the package links, of which the exported symbols tell.
type library struct {
	name    string
	exports map[string]bool
}

// libraries reads the libraries on the package's #cgo lines. It leaves out the C library, and files
// that are neither ELF nor an archive.
func libraries(ctx context.Context, tc *cc.Toolchain, pkg *cc.Package) []library {
	flags := slices.Clone(pkg.LdFlags)
	if len(pkg.PkgConfig) > 0 {
		if out, err := pkg.Run(ctx, "", append([]string{tc.PkgConfig, "--libs"}, pkg.PkgConfig...)...); err == nil {
			flags = append(flags, cc.Words(out)...)
		}
	}
	var dirs []string
	for _, f := range flags {
		if dir, ok := strings.CutPrefix(f, "-L"); ok && dir != "" {
			dirs = append(dirs, dir)
		}
	}
	var list []library
	for _, f := range flags {
		file := f
		if name, ok := strings.CutPrefix(f, "-l"); ok {
			file = find(ctx, tc, dirs, name)
		}
		if file == "" || file[0] == '-' {
			continue
		}
		if exports := exported(file); exports != nil {
			list = append(list, library{filepath.Base(file), exports})
		}
	}
	return list
}

// ofC are the libraries whose functions are known: the C library, in the parts that it has on some
// systems.
var ofC = []string{"c", "m", "pthread", "dl", "rt"}

// cLibrary returns what the C library exports, nil where its files cannot be read.
func cLibrary(ctx context.Context, tc *cc.Toolchain) map[string]bool {
	var all map[string]bool
	for _, name := range ofC {
		for _, file := range []string{"lib" + name + ".so.6", "lib" + name + ".so"} {
			if exports := exported(searched(ctx, tc, file)); len(exports) > 0 {
				if all == nil {
					all = map[string]bool{}
				}
				maps.Copy(all, exports)
				break
			}
		}
	}
	return all
}

// find finds the file of -lNAME, as the linker does.
func find(ctx context.Context, tc *cc.Toolchain, dirs []string, name string) string {
	if slices.Contains(ofC, name) {
		return ""
	}
	files := []string{"lib" + name + ".so", "lib" + name + ".a"}
	if exact, ok := strings.CutPrefix(name, ":"); ok {
		files = []string{exact}
	}
	for _, dir := range dirs {
		for _, f := range files {
			p := filepath.Join(dir, f)
			if _, err := os.Stat(p); err == nil {
				return p
			}
		}
	}
	for _, f := range files {
		if p := searched(ctx, tc, f); p != "" {
			return p
		}
	}
	return ""
}

// searched returns where the C compiler has a library's file, empty where it has none.
func searched(ctx context.Context, tc *cc.Toolchain, file string) string {
	out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "-print-file-name="+file)...)
	if out = strings.TrimSpace(out); err != nil || !filepath.IsAbs(out) {
		return ""
	}
	return out
}

// exported returns the symbols that a shared or static library defines, nil where the file is
// neither.
func exported(file string) map[string]bool {
	if f, err := elf.Open(file); err == nil {
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		if err != nil {
			return nil
		}
		exports := map[string]bool{}
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF {
				exports[s.Name] = true
			}
		}
		return exports
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return archived(data)
}

// archived returns the symbols in the index of an archive, nil where it has none. The index is the
// first file, named /: the number of symbols in 4 bytes, the place of each in 4 bytes, the names
// (ar.h, System V).
func archived(data []byte) map[string]bool {
	const magic, header = "!<arch>\n", 60
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(rest) < header || !bytes.HasPrefix(rest, []byte("/ ")) {
		return nil
	}
	size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
	if err != nil || size < 4 || size > len(rest)-header {
		return nil
	}
	index := rest[header : header+size]
	n := uint64(binary.BigEndian.Uint32(index))
	if n > uint64(size-4)/4 {
		return nil
	}
	exports := map[string]bool{}
	for name := range bytes.SplitSeq(index[4+4*n:], []byte{0}) {
		if len(name) > 0 {
			exports[string(name)] = true
		}
	}
	return exports
}
