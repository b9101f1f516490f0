//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

// Invariant: runtime.asmcgocall follows ABI0: its frame is (fn, arg, ret) above the return
// address, which is that of asmcall and siteCall, so these jump and are no frames of their own.

#include "go_asm.h"
#include "textflag.h"

TEXT ·asmcall(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ ·target(SB), AX
	JMP  AX

TEXT ·siteCall(SB), NOSPLIT|NOFRAME, $0-20
	MOVQ s+0(FP), AX
	CMPL Site_trusted(AX), $0
	JEQ  watch
	MOVQ SP, CX         // a goroutine's stack chooses its cell
	SHRQ $5, CX
	ANDQ $(31<<6), CX
	SUBL $1, Site_countdowns(AX)(CX*1) // not atomic: see sample.go
	JLE  watch
	MOVQ Site_fn(AX), AX
	MOVQ AX, s+0(FP)    // the frame is asmcall's now
	MOVQ ·target(SB), AX
	JMP  AX
watch:
	JMP ·watch(SB)

TEXT ·probe(SB), NOSPLIT, $24-28
	MOVQ pc+0(FP), CX
	MOVQ fn+8(FP), AX   // AX and BX: the first two arguments of ABIInternal
	MOVQ arg+16(FP), BX
	MOVQ AX, 0(SP)
	MOVQ BX, 8(SP)
	MOVL $0, 16(SP)
	CALL CX
	MOVL 16(SP), AX
	MOVL AX, ret+24(FP)
	RET

TEXT ·codes(SB), NOSPLIT, $0-24
	MOVQ $·resolve(SB), AX
	MOVQ AX, resolve+0(FP)
	MOVQ $·leafFallback(SB), AX
	MOVQ AX, fallback+8(FP)
	MOVQ $leaf<>(SB), AX
	MOVQ AX, leaf+16(FP)
	RET

// int32_t leaf(struct leafFrame *)
TEXT leaf<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, 8(DI)
	MOVL 0(DI), AX
	ADDL $1, AX
	RET
