//go:build cgo && !nofastc && linux

// Invariant: runtime.asmcgocall follows ABIInternal on this architecture: fn and arg are in R3
// and R4, the result in R3. target holds code of that convention here.

#include "textflag.h"
#include "funcdata.h"

TEXT ·asmcall(SB), NOSPLIT, $32-20
	NO_LOCAL_POINTERS     // resolve and leafFallback are Go: they may be where a goroutine is scanned
	MOVD fn+0(FP), R3
	MOVD arg+8(FP), R4
	MOVD ·target(SB), R12
	MOVD R12, CTR
	BL   (CTR)
	MOVW R3, ret+16(FP)
	RET

TEXT ·probe(SB), NOSPLIT, $32-28
	MOVD pc+0(FP), R12
	MOVD fn+8(FP), R3
	MOVD arg+16(FP), R4
	MOVD R3, 32(R1)     // where ABI0 has them
	MOVD R4, 40(R1)
	MOVD R12, CTR
	BL   (CTR)
	XOR  R0, R0         // Go's zero: asmcgocall sets it again, what selfTest refuses may not
	MOVW R3, ret+24(FP)
	RET

TEXT ·leafCode(SB), NOSPLIT, $0-8
	MOVD $leaf<>(SB), R3
	MOVD R3, ret+0(FP)
	RET

// int32_t leaf(struct leafFrame *)
TEXT leaf<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD R1, 8(R3)
	MOVW 0(R3), R3
	ADD  $1, R3
	RET
