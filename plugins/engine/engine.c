//go:build ignore

// The WebAssembly implementation of response programs. With its parts scan.h, address.h,
// where.h, pass.h and object.h it has the functions of scan.go, where.go and reference.go, in
// the same order and with the same results; docs/response-programs.md is the specification of both.
//
// Freestanding C11, built by build.sh with clang -msimd128 and wasm-ld. The host
// writes a control block, a table that passed Check, and the input into linear
// memory. Memory safety rests on three things: tables are checked before, the
// input is followed by PAD zero bytes (no scanner passes a zero byte unseen, see
// each), and the output buffer is as long as the input allows (docs §8).

typedef unsigned char u8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { OK = 0, NOT_JSON = 1, TOO_DEEP = 2, NO_FUEL = 3, BAD_CONTROL = 4 };
enum { PAD = 64, MAX_NAME = 512, MAX_LONE = 4, MAX_FIELDS = 1024, HARD_MAX_DEPTH = 256 };
enum { KEEP = -1, DROP = -2 };
enum { DROP_NULL = 1, DROP_EMPTY = 2, DROP_URL = 4, DROP_FALSE = 8, KEEP_LONE = 16, KEEP_PAGES = 32, ONLY_NAMED = 64, KEEP_ASKED = 128 };
enum { ENTRY_LEN = 0x3ff, ENTRY_EXEMPT = 0x8000, ENTRY_KEEP_URL = 0x4000, ENTRY_NO_PAGES = 0x2000, ENTRY_TOLD = 0x1000 };
#define NO_LIMIT 0xffffffffu

// The linear memory ends at SEGMENT in the bare engine. The linker puts the
// program set there; its 16-byte header lies just before, zero without one.
#define SEGMENT 0x20000u
typedef struct { u32 magic, length, count, version; } Set;
#define SET ((const volatile Set *)(SEGMENT - sizeof(Set)))
typedef struct { u32 offset, length; } SetEntry; // offset counts from SEGMENT

// ---- layouts of the table (table.go)

typedef struct { u32 magic; u16 version; u8 output, documents; u32 length; u16 nodes; i16 root; u32 ops; u16 nops, flags; u64 reserved; } Header;
typedef struct { u64 mul; u32 slots, entries, ext; u16 fields; i16 rest; u16 rules; u8 mbits, gbits; u32 reserved; } Node;
typedef struct { u32 key; u16 len; i16 child; } Entry;
typedef struct { u32 where, offset, limit, max_string, suffix, suffixes, numbers, r1; } Ext;
typedef struct { u32 off, len; } Suffix;
typedef struct { u8 op, cmp, kind, zero; u32 next, path, path_len, value, value_len; } Op;

// The control block: what the host sets, and what it reads back.
typedef struct {
  u32 table, in, in_len, out;      // addresses; out_cap bytes are writable at out
  u32 out_cap, max_depth;
  u64 fuel;
  u32 status, out_len;             // results
  u64 fields_dropped, rows, rows_dropped, rows_cut, strings_cut, bytes_cut, fuel_left;
  u64 told;
  u32 told_name, told_len;         // in the table, where told is not 0
} Control;

static const u8 *tab, *in0, *p, *end; // p: next input byte
static u8 *out;
static u32 status, depth, max_depth;
static i64 fuel;
static Control *ctl;

INLINE u64 ld64(const u8 *a) { u64 v; __builtin_memcpy(&v, a, 8); return v; }
INLINE u16 ld16(const u8 *a) { u16 v; __builtin_memcpy(&v, a, 2); return v; }
INLINE u32 ld32(const u8 *a) { u32 v; __builtin_memcpy(&v, a, 4); return v; }
INLINE const Node *node_at(i32 i) { return (const Node *)(tab + sizeof(Header)) + i; }
INLINE const Op *op_at(u32 i) { return (const Op *)(tab + ((const Header *)tab)->ops) + i; }

NOINLINE int fail(u32 why) { status = why; return 0; }
INLINE int charge(u32 n) { fuel -= n; if (UNLIKELY(fuel < 0)) return fail(NO_FUEL); return 1; }

// emit appends n bytes in 16-byte pieces; up to 15 more are overwritten.
INLINE void emit(const u8 *s, u32 n) {
  u8 *o = out;
  out += n;
  if (n > 256) { __builtin_memcpy(o, s, n); return; }
  for (i32 k = (i32)n; k > 0; k -= 16, s += 16, o += 16) wasm_v128_store(o, wasm_v128_load(s));
}

// A bet writes a row before its condition is known (see wager). BET_ROW while the
// row is written, BET_LOST when that cannot tell what reading it again would give,
// BET_TEST while the condition is evaluated afterwards.
static enum { NO_BET, BET_ROW, BET_LOST, BET_TEST } bet;

#include "scan.h"
#include "address.h"
#include "where.h"
#include "pass.h"

// ---- exports

// Size of linear memory that n more bytes behind the program set need; returns
// the first free address, 64-byte aligned, or 0 when memory cannot grow.
EXPORT("reserve") u32 reserve(u32 n) {
  u32 base = SET->length ? (SEGMENT - (u32)sizeof(Set) + SET->length + 63) & ~63u : SEGMENT;
  u64 need = ((u64)base + n + 65535) >> 16;
  u32 have = (u32)__builtin_wasm_memory_size(0);
  if (need > 65536) return 0;
  if (need > have && __builtin_wasm_memory_grow(0, (u32)need - have) == (unsigned long)-1) return 0;
  return base;
}

// Runs the table on the input of the control block; returns the status.
EXPORT("run") u32 run(Control *c) {
  ctl = c;
  tab = (const u8 *)c->table;
  in0 = p = (const u8 *)c->in;
  end = p + c->in_len;
  out = (u8 *)c->out;
  depth = 0;
  max_depth = c->max_depth;
  fuel = (i64)c->fuel;
  status = OK;
  known.row = 0;
  known.asked = 0;
  bet = NO_BET;
  forget();
  c->fields_dropped = c->rows = c->rows_dropped = c->rows_cut = c->strings_cut = c->bytes_cut = c->told = 0;
  c->out_len = 0;
  // No program writes more than it reads, but for a comma between documents.
  u64 room = (u64)c->in_len * (((const Header *)tab)->documents ? 2 : 1) + 2 * PAD;
  if (max_depth > HARD_MAX_DEPTH || fuel < 0 || c->out_cap < room) return c->status = BAD_CONTROL;
  for (u32 i = 0; i < PAD; i += 16) wasm_v128_store((u8 *)end + i, wasm_i8x16_splat(0));
  if (c->in_len >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) p += 3;
  i32 root = ((const Header *)tab)->root;
  int ok;
  if (((const Header *)tab)->documents) ok = stream(root);
  else {
    space();
    from = p;
    ok = value(root, 1);
    if (ok) { flush(p); space(); if (p != end) ok = fail(NOT_JSON); }
  }
  if (!ok && status == OK) status = NOT_JSON;
  c->fuel_left = (u64)fuel;
  if (ok) c->out_len = (u32)(out - (u8 *)c->out);
  return c->status = status;
}

// The programs that were linked in: how many, and where one lies.
EXPORT("programs") u32 programs(void) { return SET->count; }
EXPORT("program") const u8 *program(u32 i) {
  return i < SET->count ? (const u8 *)(SEGMENT + ((const SetEntry *)SEGMENT)[i].offset) : 0;
}
EXPORT("version") u32 version(void) { return ENGINE_VERSION; }
