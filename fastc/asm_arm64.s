//go:build cgo && !nofastc && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)

// Invariant: runtime.asmcgocall follows ABI0: its frame is (fn, arg, ret) above the caller's
// stack pointer and its return address is in LR, both as asmcall and siteCall got them, so these
// jump and are no frames of their own.

#include "go_asm.h"
#include "textflag.h"

TEXT ·asmcall(SB), NOSPLIT|NOFRAME, $0-20
	MOVD ·target(SB), R16
	JMP  (R16)

TEXT ·siteCall(SB), NOSPLIT|NOFRAME, $0-20
	MOVD s+0(FP), R0
	MOVWU Site_trusted(R0), R1
	CBZ  R1, watch
	MOVD RSP, R1        // a goroutine's stack chooses its cell
	LSR  $5, R1
	AND  $(31<<6), R1
	ADD  R0, R1
	MOVW Site_countdowns(R1), R2
	SUBSW $1, R2
	MOVW R2, Site_countdowns(R1) // not atomic: see sample.go
	BLE  watch
	MOVD Site_fn(R0), R0
	MOVD R0, s+0(FP)    // the frame is asmcall's now
	MOVD ·target(SB), R16
	JMP  (R16)
watch:
	JMP ·watch(SB)

TEXT ·probe(SB), NOSPLIT, $32-28
	MOVD pc+0(FP), R16
	MOVD fn+8(FP), R0   // R0 and R1: the first two arguments of ABIInternal
	MOVD arg+16(FP), R1
	MOVD R0, 8(RSP)
	MOVD R1, 16(RSP)
	MOVW ZR, 24(RSP)
	CALL (R16)
	MOVW 24(RSP), R0
	MOVW R0, ret+24(FP)
	RET

TEXT ·codes(SB), NOSPLIT, $0-24
	MOVD $·resolve(SB), R0
	MOVD R0, resolve+0(FP)
	MOVD $·leafFallback(SB), R0
	MOVD R0, fallback+8(FP)
	MOVD $leaf<>(SB), R0
	MOVD R0, leaf+16(FP)
	RET

// int32_t leaf(struct leafFrame *)
TEXT leaf<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R1
	MOVD R1, 8(R0)
	MOVW 0(R0), R0
	ADDW $1, R0
	RET
