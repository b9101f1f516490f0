package reach

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

// library is what the package links, in one file.
type library interface {
	// blocking says which blockingCalls a function of the library may get to, as it stands behind
	// NAME is in. It is empty where there are none, and where the library has no such function.
	blocking(function string) string
}

// libraries reads the libraries on the package's #cgo lines. Those of the system, and files that are no
// ELF, are left out.
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
		switch {
		case strings.HasSuffix(file, ".a"):
			if l, err := readArchive(file); err == nil {
				list = append(list, l)
			}
		case file != "" && file[0] != '-':
			if l, ok := readShared(file); ok {
				list = append(list, l)
			}
		}
	}
	return list
}

// find finds the file of -lNAME, as the linker does.
func find(ctx context.Context, tc *cc.Toolchain, dirs []string, name string) string {
	if slices.Contains([]string{"c", "m", "pthread", "dl", "rt"}, name) {
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
		out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "-print-file-name="+f)...)
		if out = strings.TrimSpace(out); err == nil && filepath.IsAbs(out) {
			return out
		}
	}
	return ""
}

// shared is a shared library, of which only the dynamic symbols tell.
type shared struct {
	name    string
	exports map[string]bool
	calls   []string
}

// readShared reads the dynamic symbols of a shared library.
func readShared(file string) (*shared, bool) {
	l := &shared{name: filepath.Base(file), exports: map[string]bool{}}
	f, err := elf.Open(file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, false
	}
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF:
			l.exports[s.Name] = true
		case slices.Contains(blockingCalls, libcName(s.Name)):
			l.calls = append(l.calls, s.Name)
		}
	}
	slices.Sort(l.calls)
	return l, true
}

func (l *shared) blocking(function string) string {
	if !l.exports[function] || len(l.calls) == 0 {
		return ""
	}
	return l.name + ", which calls " + Some(l.calls)
}

// archive is a static library: objects, each of which is linked as a whole.
type archive struct {
	name    string
	defines map[string]string   // the object that has a function, by its name
	needs   map[string][]string // what an object refers to and does not have, in order
}

// readArchive reads the symbols of the objects in a static library.
func readArchive(file string) (*archive, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a := &archive{filepath.Base(file), map[string]string{}, map[string][]string{}}
	members, err := arMembers(data)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		f, err := elf.NewFile(bytes.NewReader(m.data))
		if err != nil {
			continue // no object, or one of another kind
		}
		symbols, err := f.Symbols()
		if err != nil {
			continue
		}
		for _, s := range symbols {
			switch {
			case s.Section == elf.SHN_UNDEF:
				a.needs[m.name] = append(a.needs[m.name], s.Name)
			case elf.ST_BIND(s.Info) != elf.STB_LOCAL && a.defines[s.Name] == "":
				a.defines[s.Name] = m.name
			}
		}
		slices.Sort(a.needs[m.name])
	}
	return a, nil
}

// member is a file in an archive.
type member struct {
	name string
	data []byte
}

// arMembers cuts an archive into its files: a header of 60 bytes before each, the names of those that
// are longer than 15 bytes in a file //.
func arMembers(data []byte) ([]member, error) {
	const magic, header = "!<arch>\n", 60
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("no archive, or one without its files")
	}
	var list []member
	var long []byte
	for len(rest) >= header {
		name := strings.TrimRight(string(rest[:16]), " ")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || size < 0 || size > len(rest)-header {
			return nil, fmt.Errorf("an archive that ends early")
		}
		content := rest[header : header+size]
		rest = rest[min(header+size+size%2, len(rest)):]
		switch at, err := strconv.Atoi(strings.TrimPrefix(name, "/")); {
		case name == "//":
			long = content
			continue
		case name == "/" || name == "/SYM64/":
			continue
		case strings.HasPrefix(name, "/") && err == nil && at >= 0 && at < len(long):
			end, _, _ := bytes.Cut(long[at:], []byte("\n"))
			name = string(end)
		}
		list = append(list, member{strings.TrimSuffix(name, "/"), content})
	}
	return list, nil
}

// blocking follows what the function's object needs to the objects that have it, and names the nearest
// call.
func (a *archive) blocking(function string) string {
	first, ok := a.defines[function]
	if !ok {
		return ""
	}
	way := map[string]string{first: first}
	queue := []string{first}
	for len(queue) > 0 {
		object := queue[0]
		queue = queue[1:]
		var calls []string
		for _, symbol := range a.needs[object] {
			if slices.Contains(blockingCalls, libcName(symbol)) && a.defines[symbol] == "" {
				calls = append(calls, symbol)
			}
			next := a.defines[symbol]
			if _, seen := way[next]; next != "" && !seen {
				way[next] = way[object] + " -> " + next
				queue = append(queue, next)
			}
		}
		if len(calls) > 0 {
			return fmt.Sprintf("%s, whose %s gets to %s (%s)", a.name, first, Some(calls), way[object])
		}
	}
	return ""
}
