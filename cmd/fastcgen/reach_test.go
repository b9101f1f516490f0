package main

import (
	"slices"
	"testing"
)

// TestCallGraph reads the assembly of two processors and both compilers, whichever the tests run on.
func TestCallGraph(t *testing.T) {
	const amd64 = `
	.text
	.globl	step                # -- Begin function step
	.type	step, @function
step:
	movq	8(%rdi), %rax
	notrack call	*%rax
	jmp	.L2
.L2:
	ret
	.type	put, @function
put:
	leaq	calls(%rip), %rax
	call	*%rax
	ret
	.globl	size
	.type	size, @function
size:
	movl	(%rdi), %eax
	ret
	.globl	last
	.type	last, @function
last:
	jmp	fsync@PLT
	.globl	other
	.set	other,last
	.section	.data.rel.ro.local,"aw"
	.type	table, @object
table:
	.quad	put
	.data
calls:
	.quad	.LC0
	.quad	pwrite
	.section	.rodata
.LC0:
	.string	"fsync"
`
	const arm64 = `
	.text
	.globl	step                # -- Begin function step
	.type	step,@function
step:
	ldr	x8, [x0]
	blr	x8
	ret
	.type	put,@function
put:
	adrp	x8, calls
	ldr	x8, [x8, :lo12:calls]
	blr	x8
	ret
	.globl	size
	.type	size,@function
size:
	ldr	w0, [x0]
	ret
	.globl	last
	.type	last,@function
last:
	b	fsync
	.globl	other
	.set	other, last
	.data
table:
	.xword	put
calls:
	.xword	pwrite
`
	for name, text := range map[string]string{"amd64": amd64, "arm64": arm64} {
		g := &callGraph{}
		g.add(text)
		for from, want := range map[string]string{"step": "step => put => pwrite", "size": "", "last": "last -> fsync", "other": "other -> last -> fsync"} {
			found := g.reach(from, func(s string) bool { return slices.Contains(blockingCalls, s) })
			got := ""
			if len(found) > 0 {
				got = g.path(found[0])
			}
			if got != want {
				t.Errorf("%s: %s gets to %q, want %q", name, from, got, want)
			}
		}
	}
}

// TestStaticTwins: a static function of one file is not that of another one.
func TestStaticTwins(t *testing.T) {
	g := &callGraph{}
	g.add("\t.type\thelp, @function\nhelp:\n\tcall\tread\n\t.globl\tone\n\t.type\tone, @function\none:\n\tcall\thelp\n")
	g.add("\t.type\thelp, @function\nhelp:\n\tret\n\t.globl\ttwo\n\t.type\ttwo, @function\ntwo:\n\tcall\thelp\n\tcall\tthree\n")
	for from, want := range map[string]int{"one": 1, "two": 0} {
		if found := g.reach(from, func(s string) bool { return s == "read" }); len(found) != want {
			t.Errorf("%s reaches %d, want %d", from, len(found), want)
		}
	}
}
