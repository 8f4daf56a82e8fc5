#include "textflag.h"

// The byte that each mask is of, sixteen times; bracket bytes are compared without their
// bit 0x20 taken into account.
DATA quote<>+0(SB)/8, $0x2222222222222222
DATA quote<>+8(SB)/8, $0x2222222222222222
GLOBL quote<>(SB), RODATA|NOPTR, $16
DATA slash<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slash<>+8(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL slash<>(SB), RODATA|NOPTR, $16
DATA bit<>+0(SB)/8, $0x2020202020202020
DATA bit<>+8(SB)/8, $0x2020202020202020
GLOBL bit<>(SB), RODATA|NOPTR, $16
DATA open<>+0(SB)/8, $0x7b7b7b7b7b7b7b7b
DATA open<>+8(SB)/8, $0x7b7b7b7b7b7b7b7b
GLOBL open<>(SB), RODATA|NOPTR, $16
DATA close<>+0(SB)/8, $0x7d7d7d7d7d7d7d7d
DATA close<>+8(SB)/8, $0x7d7d7d7d7d7d7d7d
GLOBL close<>(SB), RODATA|NOPTR, $16

// MASK sets in to the bits of the bytes in X0 to X3 that are those of a constant.
#define MASK(constant, in) \
	MOVOU    constant<>(SB), X4 \
	MOVOA    X4, X5             \
	MOVOA    X4, X6             \
	MOVOA    X4, X7             \
	PCMPEQB  X0, X4             \
	PCMPEQB  X1, X5             \
	PCMPEQB  X2, X6             \
	PCMPEQB  X3, X7             \
	PMOVMSKB X4, in             \
	PMOVMSKB X5, AX             \
	PMOVMSKB X6, CX             \
	PMOVMSKB X7, DX             \
	SHLQ     $16, AX            \
	SHLQ     $32, CX            \
	SHLQ     $48, DX            \
	ORQ      AX, in             \
	ORQ      CX, DX             \
	ORQ      DX, in

// func masksOf(b *[64]byte) (quotes, slashes, opens, closes uint64)
TEXT ·masksOf(SB), NOSPLIT, $0-40
	MOVQ  b+0(FP), SI
	MOVOU 0(SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	MASK(quote, R8)
	MASK(slash, R9)
	MOVOU bit<>(SB), X4
	POR   X4, X0
	POR   X4, X1
	POR   X4, X2
	POR   X4, X3
	MASK(open, R10)
	MASK(close, R11)
	MOVQ  R8, quotes+8(FP)
	MOVQ  R9, slashes+16(FP)
	MOVQ  R10, opens+24(FP)
	MOVQ  R11, closes+32(FP)
	RET

DATA below<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA below<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL below<>(SB), RODATA|NOPTR, $16

// STOPS sets in to the bits of the bytes of x that end a run of a string.
#define STOPS(at, in) \
	MOVOU    at(SI), X0 \
	MOVOA    X0, X1     \
	MOVOA    X0, X2     \
	PMINUB   X5, X1     \
	PCMPEQB  X6, X2     \
	PCMPEQB  X0, X1     \
	PCMPEQB  X7, X0     \
	POR      X2, X1     \
	POR      X0, X1     \
	PMOVMSKB X1, in

// func stopsOf(b *[64]byte) uint64
TEXT ·stopsOf(SB), NOSPLIT, $0-16
	MOVQ  b+0(FP), SI
	MOVOU below<>(SB), X5
	MOVOU quote<>(SB), X6
	MOVOU slash<>(SB), X7
	STOPS(0, AX)
	STOPS(16, BX)
	STOPS(32, CX)
	STOPS(48, DX)
	SHLQ  $16, BX
	SHLQ  $32, CX
	SHLQ  $48, DX
	ORQ   BX, AX
	ORQ   CX, DX
	ORQ   DX, AX
	MOVQ  AX, ret+8(FP)
	RET
