// Scanners, as in scan.go, and names, as in table.go. A part of engine.c.

INLINE int is_space(u8 c) { return c <= ' ' && ((1ull << c) & 0x100002600ull); }

// A zero byte is no space: stops at the padding.
INLINE const u8 *space_at(const u8 *q) {
  while (UNLIKELY(is_space(*q))) q++;
  return q;
}

// spaces is space_at for the long runs of indented text.
INLINE const u8 *spaces(const u8 *q) {
  const v128_t S = wasm_i8x16_splat(' '), N = wasm_i8x16_splat('\n'), R = wasm_i8x16_splat('\r'), T = wasm_i8x16_splat('\t');
  for (;; q += 16) {
    v128_t v = wasm_v128_load(q);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(v, S), wasm_i8x16_eq(v, N)), wasm_v128_or(wasm_i8x16_eq(v, R), wasm_i8x16_eq(v, T))));
    if (m != 0xffff) return q + __builtin_ctz(~m);
  }
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

NOINLINE const u8 *number_end_far(const u8 *q) {
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

// Reads a number strictly; 0 when malformed. Most are short and have no exponent: where
// their digits end is seen in 16 bytes at once.
INLINE const u8 *number_end(const u8 *q) {
  const u8 *s = q + (*q == '-');
  v128_t v = wasm_i8x16_sub(wasm_v128_load(s), wasm_i8x16_splat('0'));
  u32 other = wasm_i8x16_bitmask(wasm_u8x16_gt(v, wasm_i8x16_splat(9))) | 0x10000u;
  u32 n = *s == '0' ? 1 : (u32)__builtin_ctz(other);
  if (UNLIKELY(!n)) return 0;
  if (s[n] == '.' && n < 15) {
    other >>= n + 1;
    u32 k = (u32)__builtin_ctz(other);
    if (UNLIKELY(!k)) return 0;
    n += 1 + k;
  }
  if (UNLIKELY(n >= 15 || (s[n] | 0x20) == 'e')) return number_end_far(q);
  return s + n;
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
