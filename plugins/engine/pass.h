// The pass over an answer, as in reference.go. A part of engine.c.

static int value(i32 node, int outer);

// What is kept is mostly the input as it is. So nothing is written until something is left
// out: the text of the input from where `from` points up to the place that is read now is
// output that waits. Where that will end is known all the same.
static const u8 *from;

INLINE u32 place(const u8 *q) { return (u32)out + (u32)(q - from); }

// flush writes what waits up to q.
INLINE void flush(const u8 *q) { emit(from, (u32)(q - from)); }

// take_back takes back all output behind a place; whoever calls it sets from.
INLINE void take_back(u32 to) {
  i32 n = (i32)(to - (u32)out);
  if (n > 0) emit(from, (u32)n);
  else out = (u8 *)to;
}

NOINLINE const u8 *gap_far(const u8 *q) {
  flush(q);
  if (is_space(q[1])) q = spaces(q);
  else q++;
  return from = q;
}

// gap leaves out the white space at q.
INLINE const u8 *gap(const u8 *q) { return LIKELY(!is_space(*q)) ? q : gap_far(q); }

INLINE u8 space(void) { p = space_at(p); return *p; }

INLINE int enter(void) {
  if (UNLIKELY(++depth > max_depth)) return fail(TOO_DEEP);
  p++;
  return 1;
}

// string_end reads the string at q and pays for its length; 0: it failed.
INLINE const u8 *string_end(const u8 *q) {
  u32 escaped = 0;
  const u8 *e = strict_string(q + 1, &escaped);
  if (UNLIKELY(!e)) { fail(NOT_JSON); return 0; }
  u32 n = (u32)(e - 2 - q);
  return LIKELY(n < 64) || charge(n >> 6) ? e : 0;
}

// scalar_end is string_end for every value that is no container.
INLINE const u8 *scalar_end(const u8 *q) {
  u8 c = *q;
  if (c == '"') return string_end(q);
  const u8 *e = c >= 'f' ? literal_end(q) : number_end(q);
  if (UNLIKELY(!e)) fail(NOT_JSON);
  return e;
}

INLINE int keep_name(void) {
  u32 escaped = 0;
  if (*p != '"') return fail(NOT_JSON);
  const u8 *e = strict_string(p + 1, &escaped);
  if (!e) return fail(NOT_JSON);
  p = gap(e);
  if (*p != ':') return fail(NOT_JSON);
  p = gap(p + 1);
  return 1;
}

// keep_container reads a container that is kept whole.
NOINLINE int keep_container(void) {
  u32 base = depth;
  u64 object[HARD_MAX_DEPTH / 64 + 1]; // a bit is set or cleared before it is read
  for (;;) {
    u8 c = *p;
    if ((c | 0x20) == '{') {
      if (!enter()) return 0;
      u64 b = 1ull << (depth & 63);
      if (c == '{') object[depth >> 6] |= b; else object[depth >> 6] &= ~b;
      p = gap(p);
      if (*p == c + 2) { p++; depth--; }
      else {
        if (c == '{' && !keep_name()) return 0;
        if (!charge(1)) return 0;
        continue;
      }
    } else {
      const u8 *e = scalar_end(p);
      if (UNLIKELY(!e)) return 0;
      p = e;
    }
    for (;;) {
      if (depth == base) return 1;
      p = gap(p);
      int obj = object[depth >> 6] >> (depth & 63) & 1;
      c = *p;
      if (c == ',') {
        p = gap(p + 1);
        if (obj && !keep_name()) return 0;
        if (!charge(1)) return 0;
        break;
      }
      if (c != (obj ? '}' : ']')) return fail(NOT_JSON);
      p++;
      depth--;
    }
  }
}

// keep reads the value at p, which is kept whole but for white space.
INLINE int keep(void) {
  if ((*p | 0x20) == '{') return keep_container();
  const u8 *e = scalar_end(p);
  if (UNLIKELY(!e)) return 0;
  p = e;
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

INLINE u32 max_string(i32 node) {
  u32 x = node_at(node)->ext;
  return x ? ((const Ext *)(tab + x))->max_string : 0;
}

// text keeps the string at p under the node's cap.
NOINLINE int text(i32 node) {
  u32 escaped = 0, limit = max_string(node);
  const u8 *s = p + 1, *e = strict_string_far(s, &escaped);
  if (!e) return fail(NOT_JSON);
  p = e;
  u32 n = (u32)(e - 1 - s);
  if (limit && n > limit) {
    u8 m[32];
    u32 cut = cut_string(s, n, limit), k = mark(m, n - cut);
    if (cut + k < n) {
      ctl->strings_cut++;
      ctl->bytes_cut += n - cut;
      flush(s + cut);
      emit(m, k);
      from = e - 1;
    }
  }
  return charge(n >> 6);
}

INLINE int starts_http(const u8 *q) { return ld32(q) == 0x70747468u; }

// dropped_url tells whether a rule leaves out the string at q for what it says.
NOINLINE int dropped_url(const u8 *q, u32 rules) {
  const u8 *e = skip_string(q + 1);
  return e && is_url(q + 1, e - 1) && (!(rules & KEEP_PAGES) || for_programs(q + 1, e - 1));
}

INLINE int dropped_string(const u8 *q, u32 rules) {
  return rules & DROP_URL && UNLIKELY(starts_http(q + 1)) && dropped_url(q, rules);
}

// dropped_word is dropped_string for a literal.
INLINE int dropped_word(const u8 *q, u32 rules) {
  return (rules & DROP_NULL && is_null(q)) || (rules & DROP_FALSE && is_false(q));
}

// telling tells whether the value at q says more than that it is not there.
INLINE int telling(const u8 *q) {
  if (*q == 'n' || (*q == '"' && q[1] == '"')) return 0;
  return (*q | 0x20) != '{' || *space_at(q + 1) != *q + 2;
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
NOINLINE int wager(i32 node, Rows *r) {
  u64 *const counts = &ctl->fields_dropped; // six of them; a copy of memory would be a call
  const v128_t a = wasm_v128_load(counts), b = wasm_v128_load(counts + 2), c = wasm_v128_load(counts + 4);
  flush(p);
  from = p;
  u8 *const out0 = out;
  const u8 *const row = p;
  const i64 fuel0 = fuel;
  const u64 told0 = ctl->told;
  const u32 depth0 = depth;
  bet = BET_ROW;
  known.row = p;
  known.n = 0;
  int ok = value(node, 0) && bet == BET_ROW;
  const u8 *after = p;
  const i64 cost = fuel0 - fuel;
  p = row;
  u32 hit = BAD;
  if (ok) { bet = BET_TEST; hit = test(r->where - 1); }
  bet = NO_BET;
  if (hit == HIT) { p = after; return WRITTEN; }
  wasm_v128_store(counts, a); wasm_v128_store(counts + 2, b); wasm_v128_store(counts + 4, c);
  ctl->told = told0;
  out = out0;
  from = row;
  depth = depth0;
  if (hit == MISS) { fuel += cost; return LEFT_OUT; }
  fuel = fuel0;
  status = OK;
  known.row = 0;
  return KEPT;
}

// row decides on one row at p: LEFT_OUT (and skipped), KEPT, or WRITTEN already.
NOINLINE int row(i32 node, Rows *r) {
  ctl->rows++;
  if (r->where) {
    int k = KEPT;
    if (r->streak > 1 && bet == NO_BET && !r->offset && r->limit && *p == '{') k = wager(node, r);
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
  flush(p);
  for (const u8 *at = p; at < until;) {
    const u8 *to = at;
    while (to < until && !is_space(*to)) to++;
    emit(at, (u32)(to - at));
    at = to;
    while (at < until && is_space(*at)) at++;
  }
  *out++ = ','; *out++ = '"';
  emit(m, k);
  *out++ = '"'; *out++ = ']';
  ctl->rows += n;
  ctl->rows_cut += n - most;
  from = p = q + 1;
  depth--;
  fuel -= most;
  if (fuel < 0) { fail(NO_FUEL); return -1; }
  return charge(bytes >> 6) ? 1 : -1;
}

// element reads an element that may be left out. In front of it, and of a comma that waits,
// is a place.
NOINLINE int element(i32 node, Rows *r, int *first, u32 before) {
  int k = row(node, r);
  if (k == FAILED) return 0;
  if (k == LEFT_OUT) { take_back(before); from = p; return 1; }
  *first = 0;
  return k == WRITTEN || value(node, 0);
}

// listed reads elements of which rows leaves out some.
NOINLINE int listed(i32 node, Rows *r) {
  int first = 1;
  for (u32 before = place(p);;) {
    if (!element(node, r, &first, before)) return 0;
    before = place(p);
    p = gap(p);
    u8 c = *p;
    if (c == ',') {
      if (first) { p++; space(); from = p; }
      else p = gap(p + 1);
      continue;
    }
    if (c != ']') return fail(NOT_JSON);
    p++; depth--;
    return 1;
  }
}

static int array(i32 node, int outer) {
  if (!enter()) return 0;
  const u8 *q = p = gap(p);
  if (*q == ']') { p++; depth--; return 1; }
  u32 capped = 0;
  if (node_at(node)->ext) {
    const Ext *x = (const Ext *)(tab + node_at(node)->ext);
    Rows rows;
    rows.on = 0;
    if (outer) rows_of(node, &rows);
    if (rows.on) return listed(node, &rows);
    if (x->numbers) {
      int k = numbers(x->numbers);
      if (k) return k > 0;
    }
    capped = x->max_string;
  }
  for (;;) {
    u8 c = *q;
    if ((c | 0x20) == '{' || UNLIKELY(capped != 0)) {
      p = q;
      if (!value(node, 0)) return 0;
      q = p;
    } else {
      if (!charge(1)) return 0;
      q = scalar_end(q);
      if (UNLIKELY(!q)) return 0;
    }
    q = gap(q);
    if (*q == ',') { q = gap(q + 1); continue; }
    if (*q != ']') return fail(NOT_JSON);
    p = q + 1; depth--;
    return 1;
  }
}

#include "object.h"

static int value(i32 node, int outer) {
  if (!charge(1)) return 0;
  u8 c = *p;
  if (node >= 0) {
    if (c == '{') return object(node);
    if (c == '[') return array(node, outer);
    if (c == '"') return text(node);
  }
  return keep();
}

static int stream(i32 root) {
  Rows rows;
  rows_of(root, &rows);
  *out++ = '[';
  int first = 1;
  for (;;) {
    while (is_space(*p) || *p == 0x1e) p++;
    if (p >= end) { *out++ = ']'; from = p; return p == end; }
    u8 start = *p;
    u32 before = (u32)out;
    from = p;
    if (!first) *out++ = ',';
    if (rows.on) {
      if (!element(root, &rows, &first, before)) return 0;
    } else {
      if (!value(root, 0)) return 0;
      first = 0;
    }
    flush(p);
    if ((start | 0x20) != '{' && start != '"' && p < end) {
      u8 n = *p;
      if (!is_space(n) && n != 0x1e && (n | 0x20) != '{' && n != '"') return fail(NOT_JSON);
    }
  }
}
