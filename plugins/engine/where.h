// Predicates, as in where.go. A part of engine.c.

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
