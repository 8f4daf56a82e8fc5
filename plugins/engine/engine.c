//go:build ignore

// The WebAssembly implementation of response programs. It has the functions of
// reference.go, scan.go and where.go, in the same order and with the same
// results; docs/response-programs.md is the specification of both.
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
enum { DROP_NULL = 1, DROP_EMPTY = 2, DROP_URL = 4, DROP_FALSE = 8, KEEP_LONE = 16 };
enum { ENTRY_LEN = 0x3ff, ENTRY_EXEMPT = 0x8000, ENTRY_KEEP_URL = 0x4000 };
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

// ---- scanners (scan.go)

INLINE int is_space(u8 c) { return c <= ' ' && ((1ull << c) & 0x100002600ull); }

// A zero byte is no space: stops at the padding.
INLINE const u8 *space_at(const u8 *q) {
  while (UNLIKELY(is_space(*q))) q++;
  return q;
}

INLINE i32 hex4(const u8 *q) { // reads 4 bytes, in bounds up to the padding; zero bytes are no digits
  u32 r = 0;
  for (int i = 0; i < 4; i++) {
    u8 c = q[i];
    if (c >= '0' && c <= '9') c -= '0';
    else { c |= 0x20; if (c < 'a' || c > 'f') return -1; c -= 'a' - 10; }
    r = r << 4 | c;
  }
  return (i32)r;
}

static const u8 escape_kind[256] = {
  ['"'] = 2, ['\\'] = 2, ['/'] = 2, ['b'] = 2, ['f'] = 2, ['n'] = 2, ['r'] = 2, ['t'] = 2, ['u'] = 6,
};

NOINLINE u32 unicode_escape_bytes(const u8 *q) { return hex4(q + 2) >= 0 ? 6 : 0; }

// Length of the escape at q, 0 when it is none.
INLINE u32 escape_bytes(const u8 *q) {
  u32 n = escape_kind[q[1]];
  return LIKELY(n != 6) ? n : unicode_escape_bytes(q);
}

// From behind the opening quote to behind the closing one; 0 when malformed. A
// zero byte is a control character, so the padding ends it.
INLINE const u8 *strict_string(const u8 *q, u32 *escaped) {
  const v128_t Q = wasm_i8x16_splat('"'), B = wasm_i8x16_splat('\\'), C = wasm_i8x16_splat(0x20);
  for (;;) {
    v128_t v = wasm_v128_load(q);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(v, Q), wasm_i8x16_eq(v, B)), wasm_u8x16_lt(v, C)));
    if (!m) { q += 16; continue; }
    q += __builtin_ctz(m);
    if (LIKELY(*q == '"')) return q + 1;
    if (*q != '\\') return 0;
    *escaped = 1;
    do { // they come in groups
      u32 n = escape_bytes(q);
      if (!n) return 0;
      q += n;
    } while (*q == '\\');
  }
}

NOINLINE const u8 *strict_string_far(const u8 *q, u32 *escaped) { return strict_string(q, escaped); }

// Decodes the text [s,e) of a string that strict_string accepted to d; stops
// once more than limit bytes are there. Returns the end. d has room for the
// whole text, or for limit+4 bytes.
NOINLINE u8 *decode(u8 *d, const u8 *s, const u8 *e, u32 limit) {
  u8 *d0 = d;
  while (s < e && (u32)(d - d0) <= limit) {
    u8 c = *s;
    if (c != '\\') { *d++ = c; s++; continue; }
    c = s[1];
    if (c != 'u') {
      switch (c) { case 'b': c = '\b'; break; case 'f': c = '\f'; break; case 'n': c = '\n'; break; case 'r': c = '\r'; break; case 't': c = '\t'; break; }
      *d++ = c; s += 2; continue;
    }
    u32 r = (u32)hex4(s + 2);
    s += 6;
    if (r >= 0xD800 && r < 0xE000) {
      i32 lo = -1;
      if (r < 0xDC00 && e - s >= 6 && s[0] == '\\' && s[1] == 'u') lo = hex4(s + 2);
      if (lo >= 0xDC00 && lo < 0xE000) { r = 0x10000 + ((r - 0xD800) << 10) + ((u32)lo - 0xDC00); s += 6; }
      else r = 0xFFFD;
    }
    if (r < 0x80) *d++ = (u8)r;
    else if (r < 0x800) { *d++ = (u8)(0xC0 | r >> 6); *d++ = (u8)(0x80 | (r & 63)); }
    else if (r < 0x10000) { *d++ = (u8)(0xE0 | r >> 12); *d++ = (u8)(0x80 | (r >> 6 & 63)); *d++ = (u8)(0x80 | (r & 63)); }
    else { *d++ = (u8)(0xF0 | r >> 18); *d++ = (u8)(0x80 | (r >> 12 & 63)); *d++ = (u8)(0x80 | (r >> 6 & 63)); *d++ = (u8)(0x80 | (r & 63)); }
  }
  return d;
}

// From behind the opening quote to behind the closing one; 0 when there is none.
// Reads at most PAD bytes past the end.
INLINE const u8 *skip_string(const u8 *q) {
  const v128_t Q = wasm_i8x16_splat('"'), B = wasm_i8x16_splat('\\');
  while (q < end) {
    v128_t v = wasm_v128_load(q);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_i8x16_eq(v, Q), wasm_i8x16_eq(v, B)));
    if (!m) { q += 16; continue; }
    q += __builtin_ctz(m);
    if (*q == '"') return q < end ? q + 1 : 0;
    q += 2;
  }
  return 0;
}

INLINE u64 prefix_xor(u64 x) { x ^= x << 1; x ^= x << 2; x ^= x << 4; x ^= x << 8; x ^= x << 16; x ^= x << 32; return x; }

// Counts brackets outside strings, 64 bytes at a time, from behind the opening
// one to behind the matching one; 0 when there is none.
NOINLINE const u8 *skip_container(const u8 *q) {
  const v128_t Q = wasm_i8x16_splat('"'), B = wasm_i8x16_splat('\\'), L = wasm_i8x16_splat(0x20), O = wasm_i8x16_splat(0x7b), C = wasm_i8x16_splat(0x7d);
  const u8 *stop = end;
  u32 open = 1;
  u64 in_string = 0, escape = 0;
  while (q < stop) {
    v128_t v0 = wasm_v128_load(q), v1 = wasm_v128_load(q + 16), v2 = wasm_v128_load(q + 32), v3 = wasm_v128_load(q + 48);
#define MASK(op, c) ((u64)wasm_i8x16_bitmask(op(v0, c)) | (u64)wasm_i8x16_bitmask(op(v1, c)) << 16 | (u64)wasm_i8x16_bitmask(op(v2, c)) << 32 | (u64)wasm_i8x16_bitmask(op(v3, c)) << 48)
    u64 qm = MASK(wasm_i8x16_eq, Q), bm = MASK(wasm_i8x16_eq, B);
    v0 = wasm_v128_or(v0, L); v1 = wasm_v128_or(v1, L); v2 = wasm_v128_or(v2, L); v3 = wasm_v128_or(v3, L);
    u64 cm = MASK(wasm_i8x16_eq, C), om = MASK(wasm_i8x16_eq, O);
    if (bm | escape) { // which bytes are escaped (simdjson's carry trick)
      u64 b = bm & ~escape, follows = b << 1 | escape, even = 0x5555555555555555ull, odd = b & ~even & ~follows, sum;
      escape = __builtin_add_overflow(odd, b, &sum);
      qm &= ~((even ^ sum << 1) & follows);
    }
    u64 s = prefix_xor(qm) ^ in_string;
    in_string = (u64)((i64)s >> 63);
    cm &= ~s; om &= ~s;
    u32 closes = (u32)__builtin_popcountll(cm);
    if (closes < open) { open += (u32)__builtin_popcountll(om) - closes; q += 64; continue; }
    while (cm) {
      u64 low = cm & -cm;
      cm ^= low;
      u64 before = om & (low - 1);
      open += (u32)__builtin_popcountll(before);
      om &= ~before;
      if (--open == 0) { q += __builtin_ctzll(low) + 1; return q <= stop ? q : 0; }
    }
    open += (u32)__builtin_popcountll(om);
    q += 64;
  }
  return 0;
}

// A scalar that holds what opens or closes something else ends elsewhere when the
// object around it is skipped as a whole.
INLINE int plain_scalar(const u8 *q, const u8 *e) {
  const v128_t Q = wasm_i8x16_splat('"'), B = wasm_i8x16_splat('\\'), L = wasm_i8x16_splat(0x20), O = wasm_i8x16_splat(0x7b);
  for (; q < e; q += 16) {
    v128_t v = wasm_v128_load(q);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(v, Q), wasm_i8x16_eq(v, B)), wasm_i8x16_eq(wasm_v128_or(v, L), O)));
    if (m && q + __builtin_ctz(m) < e) return 0;
  }
  return 1;
}

// A zero byte is below the space: stops at the padding.
INLINE const u8 *skip_scalar(const u8 *q) {
  u8 c = *q;
  if (!(c == 't' || c == 'f' || c == 'n' || c == '-' || (c >= '0' && c <= '9'))) return 0;
  const u8 *s = q;
  do c = *++q; while (c > ' ' && c != ',' && c != '}' && c != ']');
  if (bet == BET_ROW && UNLIKELY(!plain_scalar(s, q))) bet = BET_LOST;
  return q;
}

INLINE const u8 *digits(const u8 *q) { while ((u8)(*q - '0') <= 9) q++; return q; }

// Reads a number strictly; 0 when malformed.
INLINE const u8 *number_end(const u8 *q) {
  const u8 *s;
  if (*q == '-') q++;
  if (*q == '0') q++;
  else { s = q; q = digits(q); if (q == s) return 0; }
  if (*q == '.') { s = ++q; q = digits(q); if (q == s) return 0; }
  if ((*q | 0x20) == 'e') {
    q++;
    if (*q == '+' || *q == '-') q++;
    s = q; q = digits(q);
    if (q == s) return 0;
  }
  return q;
}

INLINE int is_null(const u8 *q) { return ld32(q) == 0x6c6c756eu; }
INLINE int is_true(const u8 *q) { return ld32(q) == 0x65757274u; }
INLINE int is_false(const u8 *q) { return *q == 'f' && ld32(q + 1) == 0x65736c61u; }
INLINE const u8 *literal_end(const u8 *q) {
  if (is_null(q) || is_true(q)) return q + 4;
  return is_false(q) ? q + 5 : 0;
}

// Is the text [s,e) one http(s) URL? Reads up to 16 bytes past e.
NOINLINE int is_url(const u8 *s, const u8 *e) {
  if (e - s < 4 || ld32(s) != 0x70747468u) return 0;
  s += 4;
  if (s < e && *s == 's') s++;
  if (s >= e || *s != ':') return 0;
  s++;
  for (int i = 0; i < 2; i++) {
    if (s < e && *s == '\\') s++;
    if (s >= e || *s != '/') return 0;
    s++;
  }
  const v128_t S = wasm_i8x16_splat(0x21), B = wasm_i8x16_splat('\\');
  while (s < e) {
    v128_t v = wasm_v128_load(s);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_u8x16_lt(v, S), wasm_i8x16_eq(v, B)));
    if (!m) { s += 16; continue; }
    s += __builtin_ctz(m);
    if (s >= e) break;
    if (*s != '\\') return 0;
    if (s + 1 >= e || s[1] != '/') return 0;
    s += 2;
  }
  return 1;
}

// ---- names (table.go)

#define NAME_MIX 0x9E3779B97F4A7C15ull

// Reads 8 bytes at s whatever the length.
INLINE u64 name_hash(const u8 *s, u32 n) {
  if (n < 8) return (ld64(s) & (((u64)1 << 8 * n) - 1)) ^ n;
  u64 h = ld64(s) ^ n;
  for (u32 i = 8; i < n; i += 8) h = h * NAME_MIX ^ ld64(s + (i < n - 8 ? i : n - 8));
  return h;
}

INLINE int same_bytes(const u8 *a, const u8 *b, u32 n) { // reads 8 bytes whatever n
  if (n < 8) return n == 0 || (ld64(a) ^ ld64(b)) << (64 - 8 * n) == 0;
  for (u32 i = 0; i < n; i += 8) {
    u32 k = i < n - 8 ? i : n - 8;
    if (ld64(a + k) != ld64(b + k)) return 0;
  }
  return 1;
}

INLINE const Entry *find(const Node *n, const u8 *s, u32 len) {
  if (UNLIKELY(len > MAX_NAME)) return 0;
  u64 h = name_hash(s, len), x = (h ^ h >> 32) * n->mul;
  const u8 *slots = tab + n->slots;
  u32 g = (u32)(x >> 1 >> (63 - n->gbits));
  u32 i = ((u32)(x >> 32) + slots[(2u << n->mbits) + g]) & ((1u << n->mbits) - 1);
  u32 k = ld16(slots + 2 * i);
  if (k == 0xffff) return 0;
  const Entry *e = (const Entry *)(tab + n->entries) + k;
  if ((e->len & ENTRY_LEN) != len || !same_bytes(s, tab + e->key, len)) return 0;
  return e;
}

NOINLINE int drop_suffix(const Ext *x, const u8 *s, u32 len) {
  if (len > MAX_NAME) return 0;
  const Suffix *f = (const Suffix *)(tab + x->suffix);
  for (u32 i = 0; i < x->suffixes; i++, f++) {
    if (len < f->len) continue;
    const u8 *a = s + len - f->len, *b = tab + f->off;
    u32 k = 0;
    while (k < f->len && a[k] == b[k]) k++;
    if (k == f->len) return 1;
  }
  return 0;
}

// ---- predicates (where.go)

INLINE u32 skip_cost(const u8 *from, const u8 *to) { return 1 + ((u32)(to - from) >> 6); }

INLINE const u8 *skip_at(const u8 *q) {
  const u8 *e;
  u8 c = *q;
  if (c == '"') e = skip_string(q + 1);
  else if ((c | 0x20) == '{') e = skip_container(q + 1);
  else e = skip_scalar(q); // refuses the padding
  if (UNLIKELY(!e)) { fail(NOT_JSON); return 0; }
  return charge(skip_cost(q, e)) ? e : 0;
}

NOINLINE const u8 *skip_from(const u8 *q) { return skip_at(q); }

enum { EXISTS = 1, EQ, LT, LE, GT, GE, CONTAINS, PREFIX, GLOB };
enum { OP_LEAF, OP_AND, OP_OR, OP_NOT };
enum { K_NONE, K_NULL, K_FALSE, K_TRUE, K_NUMBER, K_STRING };
enum { MISS = 0, HIT = 1, BAD = 2 };

INLINE u32 bad(u32 why) { status = why; return BAD; }

INLINE u32 holds(u32 cmp, i32 order) {
  switch (cmp) {
  case EQ: return order == 0;
  case LT: return order < 0;
  case LE: return order <= 0;
  case GT: return order > 0;
  }
  return order >= 0;
}

typedef struct { i64 exp; const u8 *d, *e; i32 sign; } Decimal;
#define MAX_EXP (1ll << 40)

static void parse_decimal(Decimal *r, const u8 *s, const u8 *e) {
  i32 neg = *s == '-', eneg = 0;
  i64 exp = 0;
  if (neg) s++;
  const u8 *m = s, *point, *first = 0;
  while (m < e && (*m | 0x20) != 'e') m++;
  if (m < e) {
    const u8 *q = m + 1;
    eneg = *q == '-';
    if (*q == '-' || *q == '+') q++;
    for (; q < e; q++) { exp = exp * 10 + (*q - '0'); if (exp > MAX_EXP) exp = MAX_EXP; }
    if (eneg) exp = -exp;
  }
  point = m;
  for (const u8 *q = s; q < m; q++) {
    if (*q == '.') point = q;
    else if (*q != '0' && !first) first = q;
  }
  r->sign = 0; r->exp = 0; r->d = r->e = m;
  if (!first) return;
  r->sign = neg ? -1 : 1;
  r->d = first;
  r->exp = first < point ? exp + (point - first) : exp - (first - point - 1);
}

INLINE u8 digit(Decimal *d) {
  if (d->d < d->e && *d->d == '.') d->d++;
  return d->d < d->e ? *d->d++ : '0';
}

static i32 compare_numbers(const u8 *a, const u8 *ae, const u8 *b, const u8 *be) {
  if (digits(a) == ae && digits(b) == be) { // JSON has no leading zeros; a program's value ends before a zero byte or in the table
    if (ae - a != be - b) return ae - a < be - b ? -1 : 1;
    while (a < ae && *a == *b) { a++; b++; }
    return a == ae ? 0 : *a < *b ? -1 : 1;
  }
  Decimal x, y;
  parse_decimal(&x, a, ae);
  parse_decimal(&y, b, be);
  if (x.sign != y.sign || !x.sign) return x.sign - y.sign;
  if (x.exp != y.exp) return x.exp < y.exp ? -x.sign : x.sign;
  while (x.d < x.e || y.d < y.e) {
    u8 c = digit(&x), d = digit(&y);
    if (c != d) return c < d ? -x.sign : x.sign;
  }
  return 0;
}

static u32 glob(const u8 *s, const u8 *se, const u8 *pat, const u8 *pe) {
  const u8 *k = pat, *star = 0, *from = 0;
  while (s < se) {
    if (k < pe && *k == '*') { star = k; from = s; k++; }
    else if (k < pe && (*k == '?' || *k == *s)) { s++; k++; }
    else if (star) {
      if (!charge(1 + ((u32)(s - from) >> 4))) return BAD;
      s = ++from;
      k = star + 1;
    }
    else return MISS;
  }
  while (k < pe && *k == '*') k++;
  return k == pe;
}

static u32 contains(const u8 *s, const u8 *se, const u8 *w, u32 n) {
  if (n == 0) return HIT;
  for (; se - s >= (i32)n; s++) {
    if (*s != *w) continue;
    u32 i = 1;
    while (i < n && s[i] == w[i]) i++;
    if (i == n) return HIT;
    if (!charge(i >> 4)) return BAD;
  }
  return MISS;
}

static i32 compare_bytes(const u8 *a, u32 an, const u8 *b, u32 bn) {
  for (u32 i = 0; i < an && i < bn; i++) if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return an < bn ? -1 : an > bn;
}

NOINLINE u32 compare(const Op *o, const u8 *q) {
  const u8 *e = 0, *w = tab + o->value, *we = w + o->value_len;
  u32 escaped = 0;
  if (o->kind == K_STRING && *q == '"') {
    e = strict_string(q + 1, &escaped);
    if (LIKELY(e != 0)) { if (!charge(skip_cost(q, e))) return BAD; }
  }
  if (!e) {
    e = skip_from(q);
    if (!e) return BAD;
    if (o->kind == K_STRING && *q == '"') return bad(NOT_JSON);
  }
  if (o->cmp == EXISTS) return HIT;
  switch (o->kind) {
  case K_NULL: return e - q == 4 && is_null(q);
  case K_FALSE: return e - q == 5 && is_false(q);
  case K_TRUE: return e - q == 4 && is_true(q);
  case K_NUMBER:
    if ((*q != '-' && (u8)(*q - '0') > 9) || number_end(q) != e) return MISS;
    return holds(o->cmp, compare_numbers(q, e, w, we));
  }
  if (*q != '"') return MISS;
  const u8 *s = q + 1, *se = e - 1;
  if (escaped) { // the room behind the output serves as scratch: it is as long as the input that is left
    if (bet == BET_TEST) return BAD; // and not behind a row that was written already
    se = decode(out, s, se, 0xfffffffeu);
    s = out;
  }
  switch (o->cmp) {
  case CONTAINS: return contains(s, se, w, o->value_len);
  case PREFIX: return (u32)(se - s) >= o->value_len && compare_bytes(s, o->value_len, w, o->value_len) == 0;
  case GLOB: return glob(s, se, w, we);
  }
  return holds(o->cmp, compare_bytes(s, (u32)(se - s), w, o->value_len));
}

static u8 name_buffer[MAX_NAME + 24];

// What tests read of the object that is a row, so that the next test goes on from
// there: its first members, and what reading up to each has cost. It says nothing
// that reading again would not.
typedef struct { const u8 *name; u32 len; const u8 *value; u32 cost; } Member; // of escaped names len is ESCAPED
enum { MAX_MEMBERS = 64, ESCAPED = -1 }; // 1 KB; few rows have more in front of what a test asks for
static struct { const u8 *row; u32 n, asked; Member m[MAX_MEMBERS]; } known; // asked: most that tests of a row needed

static u32 leaf(const Op *o, const u8 *q, u32 path, u32 deep);

INLINE int called(const u8 *s, u32 len, const u8 *w, u32 want) { return len == want && same_bytes(s, w, len); }

NOINLINE int called_escaped(const u8 *s, const u8 *w, u32 want) {
  u32 escaped;
  const u8 *e = strict_string_far(s, &escaped);
  u32 len = (u32)(decode(name_buffer, s, e - 1, MAX_NAME) - name_buffer);
  return called(name_buffer, len, w, want);
}

// member evaluates o on the member of the row that path asks for. The brace at p
// is checked.
NOINLINE u32 member(const Op *o, u32 path) {
  const u32 want = ld16(tab + path);
  const u8 *w = tab + path + 2, *q;
  u32 cost = 0, n = 0;
  if (known.row != p) {
    known.row = p;
    known.n = 0;
    q = space_at(p + 1);
    if (*q == '}') { known.row = 0; return MISS; }
  } else {
    const Member *m = known.m;
    for (n = known.n; m < known.m + n; m++) {
      if (m->len == want ? same_bytes(m->name, w, want) : UNLIKELY(m->len == (u32)ESCAPED) && called_escaped(m->name, w, want))
      {
        if (known.asked <= (u32)(m - known.m)) known.asked = (u32)(m - known.m) + 1;
        return charge(m->cost) ? leaf(o, m->value, path + 2 + want, 1) : BAD;
      }
    }
    cost = m[-1].cost;
    q = m[-1].value;
    if (!charge(cost)) return BAD;
    goto next;
  }
  for (;;) {
    if (*q != '"') return bad(NOT_JSON);
    u32 escaped = 0;
    const u8 *s = q + 1, *e = strict_string(s, &escaped);
    if (!e) return bad(NOT_JSON);
    q = space_at(e);
    if (*q != ':') return bad(NOT_JSON);
    q = space_at(q + 1);
    const u32 len = escaped ? (u32)ESCAPED : (u32)(e - 1 - s);
    if (LIKELY(n < MAX_MEMBERS)) {
      Member *m = &known.m[n++];
      m->name = s; m->len = len; m->value = q; m->cost = cost;
      known.n = n;
      if (known.asked < n) known.asked = n;
    }
    if (len == want ? same_bytes(s, w, want) : UNLIKELY(escaped) && called_escaped(s, w, want))
      return leaf(o, q, path + 2 + want, 1);
  next:;
    const u8 *v = q;
    q = skip_at(v);
    if (!q) return BAD;
    cost += skip_cost(v, q);
    q = space_at(q);
    if (*q == '}') return MISS;
    if (*q != ',') return bad(NOT_JSON);
    q = space_at(q + 1);
  }
}

static u32 leaf(const Op *o, const u8 *q, u32 path, u32 deep) {
  u8 c = *q;
  if (q >= end) return bad(NOT_JSON);
  if (c == '[') {
    if (depth + deep + 1 > max_depth) return bad(TOO_DEEP);
    q = space_at(q + 1);
    if (*q == ']') return MISS;
    for (;;) {
      u32 r = leaf(o, q, path, deep + 1);
      if (r) return r;
      q = skip_from(q);
      if (!q) return BAD;
      q = space_at(q);
      if (*q == ']') return MISS;
      if (*q != ',') return bad(NOT_JSON);
      q = space_at(q + 1);
    }
  }
  if (path == o->path + o->path_len) return compare(o, q);
  if (c != '{') return MISS;
  if (depth + deep + 1 > max_depth) return bad(TOO_DEEP);
  if (q == p && bet != BET_ROW && bet != BET_LOST) return member(o, path);
  u32 want = ld16(tab + path);
  const u8 *w = tab + path + 2;
  q = space_at(q + 1);
  if (*q == '}') return MISS;
  for (;;) {
    if (*q != '"') return bad(NOT_JSON);
    u32 escaped = 0, len;
    const u8 *s = q + 1, *e = strict_string_far(s, &escaped);
    if (!e) return bad(NOT_JSON);
    len = (u32)(e - 1 - s);
    if (escaped) { len = (u32)(decode(name_buffer, s, e - 1, MAX_NAME) - name_buffer); s = name_buffer; }
    q = space_at(e);
    if (*q != ':') return bad(NOT_JSON);
    q = space_at(q + 1);
    if (len == want && same_bytes(s, w, len)) return leaf(o, q, path + 2 + want, deep + 1);
    q = skip_from(q);
    if (!q) return BAD;
    q = space_at(q);
    if (*q == '}') return MISS;
    if (*q != ',') return bad(NOT_JSON);
    q = space_at(q + 1);
  }
}

static u32 test(u32 i) {
  const Op *o = op_at(i);
  u32 r = MISS;
  switch (o->op) {
  case OP_NOT:
    r = test(i + 1);
    return r == BAD ? BAD : !r;
  case OP_AND: case OP_OR:
    for (u32 k = i + 1; k < o->next; k = op_at(k)->next) {
      r = test(k);
      if (r == BAD || r == (o->op == OP_OR)) return r;
    }
    return r;
  }
  if (!charge(1)) return BAD;
  return leaf(o, p, o->path, 0);
}

// ---- the pass (reference.go)

static int value(i32 node, int outer);

INLINE u8 space(void) { p = space_at(p); return *p; }

INLINE int enter(void) {
  if (UNLIKELY(++depth > max_depth)) return fail(TOO_DEEP);
  p++;
  return 1;
}

INLINE const u8 *trim(const u8 *from) {
  if (LIKELY(!is_space(*p))) return from;
  emit(from, (u32)(p - from));
  space();
  return p;
}

INLINE int keep_string(void) {
  u32 escaped = 0;
  const u8 *s = p + 1, *e = strict_string(s, &escaped);
  if (UNLIKELY(!e)) return fail(NOT_JSON);
  p = e;
  return charge((u32)(e - 1 - s) >> 6);
}

INLINE int keep_name(const u8 **from) {
  u32 escaped = 0;
  if (*p != '"') return fail(NOT_JSON);
  const u8 *e = strict_string(p + 1, &escaped);
  if (!e) return fail(NOT_JSON);
  p = e;
  *from = trim(*from);
  if (*p != ':') return fail(NOT_JSON);
  p++;
  *from = trim(*from);
  return 1;
}

NOINLINE int keep_container(void) {
  u32 base = depth;
  u64 object[HARD_MAX_DEPTH / 64 + 1]; // a bit is set or cleared before it is read
  const u8 *from = p;
  for (;;) {
    u8 c = *p;
    if (c == '"') {
      if (!keep_string()) return 0;
    } else if ((c | 0x20) == '{') {
      if (!enter()) return 0;
      u64 b = 1ull << (depth & 63);
      if (c == '{') object[depth >> 6] |= b; else object[depth >> 6] &= ~b;
      from = trim(from);
      if (*p == c + 2) { p++; depth--; }
      else {
        if (c == '{' && !keep_name(&from)) return 0;
        if (!charge(1)) return 0;
        continue;
      }
    } else {
      const u8 *e = (c == '-' || (c >= '0' && c <= '9')) ? number_end(p) : literal_end(p);
      if (!e) return fail(NOT_JSON);
      p = e;
    }
    for (;;) {
      if (depth == base) { emit(from, (u32)(p - from)); return 1; }
      from = trim(from);
      int obj = object[depth >> 6] >> (depth & 63) & 1;
      c = *p;
      if (c == ',') {
        p++;
        from = trim(from);
        if (obj && !keep_name(&from)) return 0;
        if (!charge(1)) return 0;
        break;
      }
      if (c != (obj ? '}' : ']')) return fail(NOT_JSON);
      p++;
      depth--;
    }
  }
}

// keep copies the value at p whole, checked and minified.
INLINE int keep(void) {
  u8 c = *p;
  const u8 *s = p, *e;
  if (c == '"') {
    if (!keep_string()) return 0;
    emit(s, (u32)(p - s));
    return 1;
  }
  if ((c | 0x20) == '{') return keep_container();
  e = (c == '-' || (c >= '0' && c <= '9')) ? number_end(s) : literal_end(s);
  if (UNLIKELY(!e)) return fail(NOT_JSON);
  p = e;
  emit(s, (u32)(e - s));
  return 1;
}

static u32 cut_string(const u8 *s, u32 len, u32 limit) {
  u32 q = 0;
  while (q < limit) {
    u32 n = 1;
    u8 c = s[q];
    if (c == '\\') {
      n = escape_bytes(s + q);
      if (n == 6) {
        i32 hi = hex4(s + q + 2);
        if (hi >= 0xD800 && hi < 0xDC00 && q + 12 <= len && s[q + 6] == '\\' && s[q + 7] == 'u') {
          i32 lo = hex4(s + q + 8);
          if (lo >= 0xDC00 && lo < 0xE000) n = 12;
        }
      }
    } else if (c >= 0xC0) {
      while (n < 4 && q + n < len && (s[q + n] & 0xC0) == 0x80) n++;
    }
    if (q + n > limit) break;
    q += n;
  }
  return q;
}

static u32 mark(u8 *d, u32 n) {
  u8 t[12];
  u32 i = 12, k = 0;
  for (; n; n /= 10) t[--i] = (u8)('0' + n % 10);
  d[k++] = 0xE2; d[k++] = 0x80; d[k++] = 0xA6; d[k++] = '['; d[k++] = '+';
  while (i < 12) d[k++] = t[i++];
  d[k++] = ']';
  return k;
}

// text keeps the string at p under the node's cap.
NOINLINE int text(i32 node) {
  u32 escaped = 0, x = node_at(node)->ext;
  const u8 *s = p + 1, *e = strict_string_far(s, &escaped);
  if (!e) return fail(NOT_JSON);
  p = e;
  u32 n = (u32)(e - 1 - s);
  if (x) {
    u32 limit = ((const Ext *)(tab + x))->max_string;
    if (limit && n > limit) {
      u8 m[32];
      u32 cut = cut_string(s, n, limit), k = mark(m, n - cut);
      if (cut + k < n) {
        ctl->strings_cut++;
        ctl->bytes_cut += n - cut;
        *out++ = '"';
        emit(s, cut);
        emit(m, k);
        *out++ = '"';
        return charge(n >> 6);
      }
    }
  }
  emit(s - 1, n + 2);
  return charge(n >> 6);
}

// dropped tells whether a rule leaves out the value at q.
INLINE int dropped(const u8 *q, u32 rules) {
  switch (*q) {
  case 'n': return rules & DROP_NULL && is_null(q);
  case 'f': return rules & DROP_FALSE && is_false(q);
  case '"':
    if (rules & DROP_URL && ld32(q + 1) == 0x70747468u) {
      const u8 *e = skip_string(q + 1);
      return e && is_url(q + 1, e - 1);
    }
  }
  return 0;
}

typedef struct { u32 on, where, offset, limit, streak; } Rows; // streak: rows kept since the last that was not

INLINE void rows_of(i32 node, Rows *r) {
  r->on = r->streak = 0;
  if (node < 0) return;
  u32 e = node_at(node)->ext;
  if (!e) return;
  const Ext *x = (const Ext *)(tab + e);
  r->where = x->where; r->offset = x->offset; r->limit = x->limit;
  r->on = r->where || r->offset || r->limit != NO_LIMIT;
}

static int skip(void) {
  const u8 *e = skip_from(p);
  if (!e) return 0;
  p = e;
  return 1;
}

enum { FAILED = -1, LEFT_OUT, KEPT, WRITTEN };

// wager writes the row at p before its condition is known, which so needs no look
// of its own at what object() passes anyway, and takes it back when the condition
// does not hold. The outcome is that of evaluating the condition first, fuel
// included; where it might not be, all is undone and KEPT says: not decided. Bets are not
// placed inside bets, so that no row is read more than twice.
NOINLINE int wager(i32 node, Rows *r, int first) {
  u64 *const counts = &ctl->fields_dropped; // six of them; a copy of memory would be a call
  const v128_t a = wasm_v128_load(counts), b = wasm_v128_load(counts + 2), c = wasm_v128_load(counts + 4);
  u8 *const out0 = out;
  const u8 *const row = p;
  const i64 fuel0 = fuel;
  const u32 depth0 = depth;
  bet = BET_ROW;
  known.row = p;
  known.n = 0;
  if (!first) *out++ = ',';
  int ok = value(node, 0) && bet == BET_ROW;
  const u8 *after = p;
  const i64 cost = fuel0 - fuel;
  p = row;
  u32 hit = BAD;
  if (ok) { bet = BET_TEST; hit = test(r->where - 1); }
  bet = NO_BET;
  if (hit == HIT) { p = after; return WRITTEN; }
  wasm_v128_store(counts, a); wasm_v128_store(counts + 2, b); wasm_v128_store(counts + 4, c);
  out = out0;
  depth = depth0;
  if (hit == MISS) { fuel += cost; return LEFT_OUT; }
  fuel = fuel0;
  status = OK;
  known.row = 0;
  return KEPT;
}

// row decides on one row at p: LEFT_OUT (and skipped), KEPT, or WRITTEN already.
NOINLINE int row(i32 node, Rows *r, int first) {
  ctl->rows++;
  if (r->where) {
    int k = KEPT;
    if (r->streak > 1 && bet == NO_BET && !r->offset && r->limit && *p == '{') k = wager(node, r, first);
    if (k == WRITTEN) { if (r->limit != NO_LIMIT) r->limit--; return k; }
    u32 hit = k == LEFT_OUT ? MISS : test(r->where - 1);
    if (hit == BAD) return FAILED;
    r->streak++;
    if (!hit) { r->streak = 0; ctl->rows_dropped++; return skip() ? LEFT_OUT : FAILED; }
  }
  if (r->offset) { r->offset--; ctl->rows_cut++; return skip() ? LEFT_OUT : FAILED; }
  if (!r->limit) { ctl->rows_cut++; return skip() ? LEFT_OUT : FAILED; }
  if (r->limit != NO_LIMIT) r->limit--;
  return KEPT;
}

INLINE int element(i32 node, Rows *r, int *first) {
  if (UNLIKELY(r->on)) {
    int k = row(node, r, *first);
    if (k == WRITTEN) *first = 0;
    if (k != KEPT) return k != FAILED;
  }
  if (!*first) *out++ = ',';
  *first = 0;
  return value(node, 0);
}

// numbers cuts the array of numbers whose first element is at p: 1 done, 0 it is
// to be kept, -1 no fuel. Zero bytes are no numbers: stops at the padding.
NOINLINE int numbers(u32 most) {
  const u8 *q = p, *until = 0;
  u32 n = 0, left = 0;
  for (;;) {
    if (*q != '-' && (u8)(*q - '0') > 9) return 0;
    const u8 *e = number_end(q);
    if (!e) return 0;
    if (++n == most) until = e;
    else if (n > most) left += 1 + (u32)(e - q);
    q = space_at(e);
    if (*q != ',') break;
    q = space_at(q + 1);
  }
  if (*q != ']' || n <= most) return 0;
  u8 m[32];
  u32 k = mark(m, n - most), bytes = (u32)(q - p);
  if (left <= k + 3) return 0;
  for (const u8 *from = p; from < until;) {
    const u8 *to = from;
    while (to < until && !is_space(*to)) to++;
    emit(from, (u32)(to - from));
    from = to;
    while (from < until && is_space(*from)) from++;
  }
  *out++ = ','; *out++ = '"';
  emit(m, k);
  *out++ = '"'; *out++ = ']';
  ctl->rows += n;
  ctl->rows_cut += n - most;
  p = q + 1;
  depth--;
  fuel -= most;
  if (fuel < 0) { fail(NO_FUEL); return -1; }
  return charge(bytes >> 6) ? 1 : -1;
}

static int array(i32 node, int outer) {
  if (!enter()) return 0;
  *out++ = '[';
  if (space() == ']') { p++; depth--; *out++ = ']'; return 1; }
  Rows rows;
  rows.on = 0;
  if (outer) rows_of(node, &rows);
  u32 ext = node_at(node)->ext;
  if (ext && !rows.on && ((const Ext *)(tab + ext))->numbers) {
    int k = numbers(((const Ext *)(tab + ext))->numbers);
    if (k) return k > 0;
  }
  int first = 1;
  for (;;) {
    space();
    if (!element(node, &rows, &first)) return 0;
    u8 c = space();
    if (c == ',') { p++; continue; }
    if (c != ']') return fail(NOT_JSON);
    p++; depth--; *out++ = ']';
    return 1;
  }
}

typedef struct { const u8 *start, *end, *value, *after; } Lone;

// Writes the members that KeepLone brings back.
NOINLINE void keep_lone(const Lone *l, u32 n) {
  for (u32 i = 0; i < n; i++, l++) {
    if (i) *out++ = ',';
    emit(l->start, (u32)(l->end - l->start));
    *out++ = ':';
    emit(l->value, (u32)(l->after - l->value));
    ctl->fields_dropped--;
  }
}

// object keeps its own position q; p is set before others look at it.
static int object(i32 node) {
  // Of the row of a bet, where the members are is noted for its condition.
  Member *note = UNLIKELY(bet == BET_ROW && known.row == p) ? known.m : 0, *noted = known.m + known.asked;
  u32 cost = 0;
  if (!enter()) return 0;
  *out++ = '{';
  if (space() == '}') { p++; depth--; *out++ = '}'; return 1; }
  const Node *n = node_at(node);
  const Ext *x = n->ext ? (const Ext *)(tab + n->ext) : 0;
  const u32 rules = n->rules, fields = n->fields;
  const i32 rest = n->rest;
  const Entry *entries = (const Entry *)(tab + n->entries);
  // Which fields were seen: 64 in a register, more on the stack.
  u64 seen = 0, more[fields > 64 ? (fields - 1) >> 6 : 1];
  for (u32 i = 0; i + 64 < fields; i += 64) more[i >> 6] = 0;
  u32 found = 0;
  int first = 1;
  Lone lone[MAX_LONE];
  u32 lones = 0;
  const u8 *q = p;
  for (;;) {
    q = space_at(q);
    if (UNLIKELY(*q != '"')) return fail(NOT_JSON);
    const u8 *start = q, *s = q + 1, *name = s;
    u32 escaped = 0;
    const u8 *e = strict_string(s, &escaped);
    if (UNLIKELY(!e)) return fail(NOT_JSON);
    u32 len = (u32)(e - 1 - s);
    q = space_at(e);
    if (UNLIKELY(*q != ':')) return fail(NOT_JSON);
    q = space_at(q + 1);
    const u8 *at = q;
    if (UNLIKELY(note != 0)) {
      note->name = s; note->len = escaped ? (u32)ESCAPED : len; note->value = q; note->cost = cost;
      known.n++;
      if (++note == noted) note = 0;
    }
    if (UNLIKELY(escaped)) { // behind the output there is room for at least the name
      name = out + 16;
      len = (u32)(decode(out + 16, s, e - 1, MAX_NAME) - name);
    }
    i32 child = rest;
    u32 exempt = 0, address = 0, by = rules;
    const Entry *f = find(n, name, len);
    if (f) {
      child = f->child;
      exempt = f->len & ENTRY_EXEMPT;
      if (f->len & ENTRY_KEEP_URL) by &= ~DROP_URL;
      if (child != DROP) {
        u32 i = (u32)(f - entries);
        u64 *w = LIKELY(i < 64) ? &seen : &more[(i >> 6) - 1], b = 1ull << (i & 63);
        if (UNLIKELY(*w & b)) child = DROP;
        else { *w |= b; found++; }
      }
    } else if (child != DROP && x && x->suffixes && drop_suffix(x, name, len)) {
      child = DROP;
      address = rules & KEEP_LONE && first && dropped(q, DROP_URL);
    }
    if (child != DROP && by && !exempt && dropped(q, by)) {
      child = DROP;
      address = rules & KEEP_LONE && first && *q == '"';
    }
    if (child == DROP) {
      ctl->fields_dropped++;
      q = skip_at(q);
      if (UNLIKELY(!q)) return 0;
      if (UNLIKELY(address) && lones < MAX_LONE) {
        Lone *l = &lone[lones++];
        l->start = start; l->end = e; l->value = at; l->after = q;
      }
    } else {
      u8 *before = out;
      if (!first) *out++ = ',';
      emit(start, (u32)(e - start));
      *out++ = ':';
      u8 *written = out;
      p = q;
      if (!value(child, 1)) return 0;
      q = p;
      if (rules & DROP_EMPTY && !exempt && out - written == 2 && (*written == '"' || (*written | 0x20) == '{')) {
        out = before;
        ctl->fields_dropped++;
      } else first = 0;
    }
    if (rest == DROP && found == fields) { // nothing more is wanted
      if (first) keep_lone(lone, lones);
      e = skip_container(q);
      if (!e) return fail(NOT_JSON);
      p = e; depth--; *out++ = '}';
      return charge((u32)(e - q) >> 6);
    }
    if (UNLIKELY(note != 0)) cost += skip_cost(at, q);
    q = space_at(q);
    if (LIKELY(*q == ',')) { q++; continue; }
    if (*q != '}') return fail(NOT_JSON);
    if (UNLIKELY(first)) keep_lone(lone, lones);
    p = q + 1; depth--; *out++ = '}';
    return 1;
  }
}

static int value(i32 node, int outer) {
  if (!charge(1)) return 0;
  if (node < 0) return keep();
  u8 c = *p;
  if (c == '{') return object(node);
  if (c == '[') return array(node, outer);
  if (c == '"') return text(node);
  return keep();
}

static int stream(i32 root) {
  Rows rows;
  rows_of(root, &rows);
  *out++ = '[';
  int first = 1;
  for (;;) {
    while (is_space(*p) || *p == 0x1e) p++;
    if (p >= end) { *out++ = ']'; return p == end; }
    u8 start = *p;
    if (!element(root, &rows, &first)) return 0;
    if ((start | 0x20) != '{' && start != '"' && p < end) {
      u8 n = *p;
      if (!is_space(n) && n != 0x1e && (n | 0x20) != '{' && n != '"') return fail(NOT_JSON);
    }
  }
}

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
  c->fields_dropped = c->rows = c->rows_dropped = c->rows_cut = c->strings_cut = c->bytes_cut = 0;
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
    ok = value(root, 1);
    if (ok) { space(); if (p != end) ok = fail(NOT_JSON); }
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
