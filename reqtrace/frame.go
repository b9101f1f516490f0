package reqtrace

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/exp/trace"
)

// place is what a stack says about where in the code a goroutine is.
type place struct {
	// function (file:line): the program's innermost; where it has none on the stack, a library's,
	// with its module; "": neither is there
	site string
	call string // the function that site called: os.(*File).Sync, rate.(*Limiter).Wait, C.step; "": none
	// what is asked for there: a system call's name, C's function, or what kind of thing is waited for; "": not known
	op       string
	handler  string // function (file:line): of the request's handler, where that is not site
	owner    owner  // of site; below ownerLibrary where there is none
	resource bool   // op is something that others hold meanwhile
	reader   bool   // op is an RWMutex, taken or released to read
	stops    bool   // the world was stopped there, for op
}

// owner says to whom a function belongs. What is lower is rather how something is done, and what is higher why.
type owner uint8

const (
	ownerRuntime owner = iota // runtime, sync and internal packages
	ownerStd                  // the standard library's other packages
	ownerShim                 // thin layers above system calls and C
	ownerLibrary              // a module that the program requires
	ownerProgram
)

// frame is a frame of a stack, with what its function's name and file say.
type frame struct {
	trace.StackFrame
	owner owner
}

func newFrame(f trace.StackFrame) frame { return frame{f, ownerOf(&f)} }

// ownerOf says to whom a frame's function belongs. A required module's files lie in a folder with its version, in the
// module cache and in what go build -trimpath writes (cmd/go, "Module cache layout"); vendored ones under vendor.
func ownerOf(f *trace.StackFrame) owner {
	root := pathRoot(f.Func)
	switch {
	// without a package: an assembly file's own, such as gcWriteBarrier
	case root == "runtime", root == "sync", root == "internal", root == f.Func:
		return ownerRuntime
	case stdRoots[root]:
		return ownerStd
	case strings.Contains(f.Func, cFunction), strings.HasPrefix(f.Func, "golang.org/x/sys/"),
		strings.HasPrefix(f.Func, "modernc.org/libc"):
		return ownerShim
	case strings.Contains(f.File, "@v"), strings.Contains(f.File, "/vendor/"):
		return ownerLibrary
	}
	return ownerProgram
}

// cFunction is in the name of the function through which cgo calls one of C.
const cFunction = "._Cfunc_"

// moduleOf returns the module that a library's frame comes from: as much of its package's path as stands before the
// version. Of a vendored one it is the package: where the module ends, its path does not say.
func moduleOf(f *trace.StackFrame) string {
	if before, _, ok := strings.Cut(f.File, "@v"); ok {
		before = unescape(before)
		for pkg := plainName(packageOf(f.Func)); pkg != "."; pkg = path.Dir(pkg) {
			if before == pkg || strings.HasSuffix(before, "/"+pkg) {
				return pkg
			}
		}
		if _, after, ok := strings.Cut(before, "/pkg/mod/"); ok { // a main package does not have its path in its name
			return after
		}
		return before
	}
	if _, after, ok := strings.Cut(f.File, "/vendor/"); ok {
		return path.Dir(after)
	}
	return ""
}

// unescape has capital letters be capital again: the module cache writes !a for A.
func unescape(module string) string {
	parts := strings.Split(module, "!")
	for i := 1; i < len(parts); i++ {
		if p := parts[i]; p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// placeOf returns the place of a stack, innermost frame first. h is the index of the handler's
// frame (sites.handler). inside is the index of the library's frame that sleeps there, or -1.
func placeOf(frames []frame, h int) (p place, inside int) {
	at := innermost(frames)
	if at < 0 {
		at = h // a handler of the standard library, such as its proxy
	} else if at > h && h >= 0 { // middleware around a library's handler: the library's handler waits
		if at = innermost(frames[:h+1]); at < 0 {
			at = h
		}
	}
	if at < 0 {
		p.op = opOf(frames)
		p.resource = isResource(p.op)
		return p, -1
	}
	p.site, p.owner = siteOf(&frames[at].StackFrame), frames[at].owner
	if at > 0 && pathRoot(frames[at-1].Func) != "runtime" { // the runtime is called by a statement
		p.call = shortFunc(frames[at-1].Func)
		if _, name, ok := strings.Cut(p.call, cFunction); ok {
			p.call = "C." + name
		}
	}
	p.op = opOf(frames[:at])
	p.resource, p.reader = isResource(p.op), p.op == opRWMutex && reads(frames[:at])
	if h >= 0 && h != at && frames[h].owner >= ownerLibrary {
		p.handler = siteOf(&frames[h].StackFrame)
	}
	op, inside := napOf(frames[:at])
	if op != "" {
		p.op, p.resource = op, false
	}
	if p.owner != ownerProgram { // else the library's function is site itself
		inside = -1
	}
	return p, inside
}

// innermost returns the index of the innermost frame of the program; where it has none, of a
// library; -1: neither is there.
func innermost(frames []frame) int {
	at, best := -1, ownerShim
	for i := range frames {
		if o := frames[i].owner; o > best {
			at, best = i, o
		}
	}
	return at
}

// siteOf writes a frame as function (file:line), and the module of a library's.
func siteOf(f *trace.StackFrame) string {
	where := path.Base(f.File) + ":" + strconv.FormatUint(f.Line, 10)
	if m := moduleOf(f); m != "" {
		where += " in " + m
	}
	return shortFunc(f.Func) + " (" + where + ")"
}

// shortFunc returns a function's name without the path of its package.
func shortFunc(f string) string {
	generic := strings.IndexByte(f, '[') // type arguments may hold paths
	if generic < 0 {
		generic = len(f)
	}
	last := strings.LastIndexByte(f[:generic], '/')
	if last > 0 && isVersion(f[last+1:]) { // of a module: the path element before it names the package
		dot := last + strings.IndexByte(f[last:], '.')
		f, last = f[:last]+f[dot:], strings.LastIndexByte(f[:last], '/')
	}
	f = plainName(f[last+1:])
	for _, wrapper := range []string{".deferwrap", ".gowrap"} { // what the compiler makes of a defer and a go statement
		if i := strings.LastIndex(f, wrapper); i > 0 && strings.Trim(f[i+len(wrapper):], "0123456789") == "" {
			f = f[:i]
		}
	}
	return f
}

// isVersion reports whether the rest of a function's name begins with a module's major version:
// v2.Do.
func isVersion(f string) bool {
	version, _, ok := strings.Cut(f, ".")
	return ok && len(version) > 1 && version[0] == 'v' && strings.Trim(version[1:], "0123456789") == ""
}

// plainName has dots be dots: in the last element of a package's path the linker writes them as %2e.
func plainName(f string) string { return strings.ReplaceAll(f, "%2e", ".") }

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	f, _, _ := strings.Cut(function, "[") // type arguments may hold paths
	slash := strings.LastIndexByte(f, '/') + 1
	if dot := strings.IndexByte(f[slash:], '.'); dot >= 0 {
		return f[:slash+dot]
	}
	return f
}
