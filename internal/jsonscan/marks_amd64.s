#include "textflag.h"

// The bytes that are looked for; brackets and braces that close differ in bit 0x20 only.
DATA bytes<>+0(SB)/8, $0x20202c7d291f5c22
GLOBL bytes<>(SB), RODATA|NOPTR, $8

// MARK leaves the masks of the 32 bytes at i(SI): quotes in q, special in s, blanks in b, ends in e.
#define MARK(i, q, s, b, e) \
	VMOVDQU   i(SI), Y0     \
	VPCMPEQB  Y0, Y8, Y1    \
	VPCMPEQB  Y0, Y9, Y2    \
	VPOR      Y1, Y2, Y1    \
	VPMINUB   Y0, Y10, Y3   \
	VPCMPEQB  Y0, Y3, Y3    \
	VPCMPEQB  Y0, Y11, Y4   \
	VPOR      Y0, Y14, Y5   \
	VPCMPEQB  Y5, Y12, Y5   \
	VPOR      Y3, Y2, Y2    \
	VPOR      Y4, Y5, Y5    \
	VPOR      Y5, Y2, Y2    \
	VPCMPEQB  Y0, Y14, Y3   \
	VPCMPEQB  Y0, Y13, Y4   \
	VPOR      Y3, Y4, Y4    \
	VPOR      Y2, Y4, Y4    \
	VPMOVMSKB Y1, q         \
	VPMOVMSKB Y2, s         \
	VPMOVMSKB Y3, b         \
	VPMOVMSKB Y4, e

// BOTH stores the mask of 64 bytes.
#define BOTH(low, high, at) \
	SHLQ $32, high          \
	ORQ  low, high          \
	MOVQ high, at(DI)

// func markAVX2(dst *Marks, b *byte, n int)
TEXT ·markAVX2(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         b+8(FP), SI
	MOVQ         n+16(FP), R12
	VPBROADCASTB bytes<>+0(SB), Y8  // quote
	VPBROADCASTB bytes<>+1(SB), Y9  // backslash
	VPBROADCASTB bytes<>+2(SB), Y10 // the last control character
	VPBROADCASTB bytes<>+3(SB), Y11 // )
	VPBROADCASTB bytes<>+4(SB), Y12 // }
	VPBROADCASTB bytes<>+5(SB), Y13 // ,
	VPBROADCASTB bytes<>+6(SB), Y14 // a space, and the bit

next:
	MARK(0, AX, BX, CX, DX)
	MARK(32, R8, R9, R10, R11)
	BOTH(AX, R8, 0)
	BOTH(BX, R9, 8)
	BOTH(CX, R10, 16)
	BOTH(DX, R11, 24)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ R12
	JNE  next
	VZEROUPPER
	RET
