#include "textflag.h"

DATA below<>+0(SB)/8, $0x1f1f1f1f1f1f1f1f
DATA below<>+8(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL below<>(SB), RODATA|NOPTR, $16
DATA quotes<>+0(SB)/8, $0x2222222222222222
DATA quotes<>+8(SB)/8, $0x2222222222222222
GLOBL quotes<>(SB), RODATA|NOPTR, $16
DATA slashes<>+0(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA slashes<>+8(SB)/8, $0x5c5c5c5c5c5c5c5c
GLOBL slashes<>(SB), RODATA|NOPTR, $16

DATA tabs<>+0(SB)/8, $0x0909090909090909
DATA tabs<>+8(SB)/8, $0x0909090909090909
GLOBL tabs<>(SB), RODATA|NOPTR, $16
DATA feeds<>+0(SB)/8, $0x0a0a0a0a0a0a0a0a
DATA feeds<>+8(SB)/8, $0x0a0a0a0a0a0a0a0a
GLOBL feeds<>(SB), RODATA|NOPTR, $16

// What makes the letters of their escapes of tabs and line feeds: \t xor 't', \n xor 'n'.
DATA tabbed<>+0(SB)/8, $0x7d7d7d7d7d7d7d7d
DATA tabbed<>+8(SB)/8, $0x7d7d7d7d7d7d7d7d
GLOBL tabbed<>(SB), RODATA|NOPTR, $16
DATA fed<>+0(SB)/8, $0x6464646464646464
DATA fed<>+8(SB)/8, $0x6464646464646464
GLOBL fed<>(SB), RODATA|NOPTR, $16

// HALF writes the eight bytes in the low half of x: behind them eight backslashes are put, and
// the shuffle for their mask in BX says where each byte goes.
#define HALF(x) \
	PUNPCKLQDQ X10, x        \
	MOVQ       BX, DX        \
	SHLQ       $4, DX        \
	MOVOU      (R9)(DX*1), X5 \
	PSHUFB     X5, x         \
	MOVOU      x, (DI)       \
	MOVBQZX    (R10)(BX*1), DX \
	ADDQ       DX, DI

// func escapeBlocks(dst, src *byte, n int, stop uint64) (read, written int)
TEXT ·escapeBlocks(SB), NOSPLIT, $0-48
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	MOVQ  stop+24(FP), R8
	MOVQ  DI, R12
	MOVQ  SI, R13
	LEAQ  ·shuffles(SB), R9
	LEAQ  ·widths(SB), R10
	MOVOU below<>(SB), X8
	MOVOU quotes<>(SB), X9
	MOVOU slashes<>(SB), X10
	MOVOU tabs<>(SB), X11
	MOVOU feeds<>(SB), X12
	MOVOU tabbed<>(SB), X13
	MOVOU fed<>(SB), X14

block:
	CMPQ     CX, $16
	JLT      done
	MOVOU    (SI), X0
	MOVOA    X0, X1
	PMINUB   X8, X1
	PCMPEQB  X0, X1
	MOVOA    X0, X6
	MOVOA    X0, X7
	PCMPEQB  X11, X6
	PCMPEQB  X12, X7
	MOVOA    X6, X4
	POR      X7, X4
	MOVOA    X4, X5
	PANDN    X1, X5
	PMOVMSKB X5, AX
	PMOVMSKB X0, BX
	ANDQ     R8, BX
	ORQ      BX, AX
	JNE      done
	MOVOA    X0, X2
	MOVOA    X0, X3
	PCMPEQB  X9, X2
	PCMPEQB  X10, X3
	POR      X3, X2
	POR      X4, X2
	PAND     X13, X6
	PAND     X14, X7
	PXOR     X6, X0
	PXOR     X7, X0
	PMOVMSKB X2, AX
	ADDQ     $16, SI
	SUBQ     $16, CX
	TESTQ    AX, AX
	JNE      escape
	MOVOU    X0, (DI)
	ADDQ     $16, DI
	JMP      block

escape:
	MOVOA   X0, X4
	MOVBQZX AX, BX
	HALF(X4)
	PSRLO   $8, X0
	SHRQ    $8, AX
	MOVQ    AX, BX
	HALF(X0)
	JMP     block

done:
	SUBQ R13, SI
	SUBQ R12, DI
	MOVQ SI, read+32(FP)
	MOVQ DI, written+40(FP)
	RET
