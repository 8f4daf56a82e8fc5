// The pass over an answer, as in reference.go. A part of engine.c.

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
      *out++ = '"';
      emit(s, cut);
      emit(m, k);
      *out++ = '"';
      return charge(n >> 6);
    }
  }
  emit(s - 1, n + 2);
  return charge(n >> 6);
}

// plain is value for what is no container and has no cap, without the calls.
INLINE int plain(i32 node, int outer) {
  if ((*p | 0x20) == '{' || (*p == '"' && node >= 0 && max_string(node))) return value(node, outer);
  return charge(1) && keep();
}

// dropped tells whether a rule leaves out the value at q.
INLINE int dropped(const u8 *q, u32 rules) {
  switch (*q) {
  case 'n': return rules & DROP_NULL && is_null(q);
  case 'f': return rules & DROP_FALSE && is_false(q);
  case '"':
    if (rules & DROP_URL && ld32(q + 1) == 0x70747468u) {
      const u8 *e = skip_string(q + 1);
      return e && is_url(q + 1, e - 1) && (!(rules & KEEP_PAGES) || for_programs(q + 1, e - 1));
    }
  }
  return 0;
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
NOINLINE int wager(i32 node, Rows *r, int first) {
  u64 *const counts = &ctl->fields_dropped; // six of them; a copy of memory would be a call
  const v128_t a = wasm_v128_load(counts), b = wasm_v128_load(counts + 2), c = wasm_v128_load(counts + 4);
  u8 *const out0 = out;
  const u8 *const row = p;
  const i64 fuel0 = fuel;
  const u64 told0 = ctl->told;
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
  ctl->told = told0;
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
  return plain(node, 0);
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

NOINLINE int element_far(i32 node, Rows *r, int *first) { return element(node, r, first); }

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

// The objects of a list mostly have the same names in the same order: what was found for
// a name is tried first where the next object of its node has its own. A guess is of one
// run, whose input name lies in, and of a name that a colon follows at once.
enum { GUESSES = 128 };
typedef struct { u64 of; const u8 *name; u32 len; const Entry *field; int ending; } Guess;
static Guess guesses[GUESSES];
static u32 run_number;

INLINE void forget(void) {
  host.name = 0;
  if (++run_number) return;
  for (u32 i = 0; i < GUESSES; i++) guesses[i].of = 0;
  run_number = 1;
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
  u32 guess = (u32)node * 8;
  const u64 guess_of = (u64)run_number << 32 | (u32)node;
  const u8 *q = p;
  for (;;) {
    q = space_at(q);
    if (UNLIKELY(*q != '"')) return fail(NOT_JSON);
    const u8 *start = q, *s = q + 1, *e;
    u32 len, escaped = 0;
    const Entry *f;
    int ending; // a suffix leaves it out, if no field names it
    Guess *g = &guesses[(guess++) & (GUESSES - 1)];
    if (LIKELY(g->of == guess_of) && same_bytes(s, g->name, g->len + 2)) {
      len = g->len; f = g->field; ending = g->ending;
      e = s + len + 1;
      q = space_at(e + 1);
    } else {
      const u8 *name = s;
      e = strict_string(s, &escaped);
      if (UNLIKELY(!e)) return fail(NOT_JSON);
      len = (u32)(e - 1 - s);
      q = space_at(e);
      if (UNLIKELY(*q != ':')) return fail(NOT_JSON);
      u32 bytes = len;
      if (UNLIKELY(escaped)) { // behind the output there is room for at least the name
        name = out + 16;
        bytes = (u32)(decode(out + 16, s, e - 1, MAX_NAME) - name);
      }
      f = find(n, name, bytes);
      ending = !f && x && x->suffixes && drop_suffix(x, name, bytes);
      if (LIKELY(!escaped && q == e)) { g->of = guess_of; g->name = s; g->len = len; g->field = f; g->ending = ending; }
      q = space_at(q + 1);
    }
    const u8 *at = q;
    if (UNLIKELY(note != 0)) {
      note->name = s; note->len = escaped ? (u32)ESCAPED : len; note->value = q; note->cost = cost;
      known.n++;
      if (++note == noted) note = 0;
    }
    i32 child = rest;
    u32 exempt = 0, address = 0, by = rules;
    if (f) {
      child = f->child;
      exempt = f->len & ENTRY_EXEMPT;
      if (f->len & ENTRY_KEEP_URL) by &= ~DROP_URL;
      if (f->len & ENTRY_NO_PAGES) by &= ~KEEP_PAGES;
      if (child != DROP) {
        u32 i = (u32)(f - entries);
        u64 *w = LIKELY(i < 64) ? &seen : &more[(i >> 6) - 1], b = 1ull << (i & 63);
        if (UNLIKELY(*w & b)) child = DROP;
        else { *w |= b; found++; }
      }
    } else if (child != DROP && ending) {
      child = DROP;
      address = rules & KEEP_LONE && first && dropped(q, DROP_URL);
    }
    if (child != DROP && by && !exempt && dropped(q, by)) {
      child = DROP;
      address = rules & KEEP_LONE && first && *q == '"';
    }
    if (child == DROP) {
      ctl->fields_dropped++;
      if (f && UNLIKELY(f->len & ENTRY_TOLD) && telling(q) && !ctl->told++) { ctl->told_name = f->key; ctl->told_len = f->len & ENTRY_LEN; }
      q = skip_at(q);
      if (UNLIKELY(!q)) return 0;
      if (UNLIKELY(address) && lones < MAX_LONE) {
        Lone *l = &lone[lones++];
        l->start = start; l->end = e; l->value = at; l->after = q;
      }
    } else {
      u8 *before = out;
      if (LIKELY(!first && start[-1] == ',' && at == e + 1)) emit(start - 1, (u32)(at - start) + 1);
      else {
        if (!first) *out++ = ',';
        emit(start, (u32)(e - start));
        *out++ = ':';
      }
      u8 *written = out;
      p = q;
      if (!plain(child, 1)) return 0;
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
    if (p >= end) { *out++ = ']'; return p == end; }
    u8 start = *p;
    if (!element_far(root, &rows, &first)) return 0;
    if ((start | 0x20) != '{' && start != '"' && p < end) {
      u8 n = *p;
      if (!is_space(n) && n != 0x1e && (n | 0x20) != '{' && n != '"') return fail(NOT_JSON);
    }
  }
}
