// The pass over an object. A part of engine.c, as pass.h is.

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
// run, whose input name lies in, and of a name that a colon follows at once. Those of a node
// lie behind each other, and the distance keeps those of its children out of their way.
enum { GUESSES = 1024, GUESSES_APART = 61, MAX_GUESSED = 0x7fff, MAX_RUN = 0xffff };
enum { NO_FIELD = 0xffff };
enum { ENDING = -3 };   // as a child: a suffix leaves it out
typedef struct {
  u32 of;             // the run and the node
  const u8 *name;     // its opening quote
  u16 len;            // of the name itself
  i16 child;          // what becomes of the value
  u16 by;             // the rules that may leave it out
  u16 index;          // of the field, or NO_FIELD
} Guess;
static Guess guesses[GUESSES];
static u32 run_number;

INLINE void forget(void) {
  host.name = 0;
  if (++run_number <= MAX_RUN) return;
  for (u32 i = 0; i < GUESSES; i++) guesses[i].of = 0;
  run_number = 1;
}

// matches tells whether the n bytes of a and b, which are in the input, are the same.
INLINE int matches(const u8 *a, const u8 *b, u32 n) {
  u32 m = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(a), wasm_v128_load(b)));
  if (LIKELY(n <= 16)) return !(~m << (32 - n));
  if (m != 0xffff) return 0;
  for (u32 i = 16; i < n; i += 16) {
    u32 k = i < n - 16 ? i : n - 16;
    if (wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(a + k), wasm_v128_load(b + k))) != 0xffff) return 0;
  }
  return 1;
}

// look_up reads the name at p and the colon, and fills g with what its node has of it, or
// own, when the name is written otherwise. It leaves p in front of the value, and returns 0
// when it failed. What it fills is for this member alone: objects in its value have the same memory.
NOINLINE Guess *look_up(i32 node, Guess *g, Guess *own, u32 *length, u32 *escaped) {
  const Node *n = node_at(node);
  const Ext *x = n->ext ? (const Ext *)(tab + n->ext) : 0;
  const u8 *q = p;
  *escaped = 0;
  if (UNLIKELY(*q != '"')) { fail(NOT_JSON); return 0; }
  const u8 *start = q, *name = q + 1, *e = strict_string(q + 1, escaped);
  if (UNLIKELY(!e)) { fail(NOT_JSON); return 0; }
  u32 len = (u32)(e - 1 - name), bytes = len;
  q = gap(e);
  if (UNLIKELY(*q != ':')) { fail(NOT_JSON); return 0; }
  if (UNLIKELY(*escaped)) { // behind the output there is room for at least the name
    bytes = (u32)(decode(out + 16, name, e - 1, MAX_NAME) - (out + 16));
    name = out + 16;
  }
  const Entry *f = find(n, name, bytes);
  if (UNLIKELY(*escaped || q != e || len > MAX_GUESSED)) g = own;
  else g->of = run_number << 16 | (u32)node;
  g->name = start;
  g->len = (u16)len;
  *length = len;
  g->child = n->rest;
  g->by = n->rules;
  g->index = NO_FIELD;
  if (f) {
    g->child = f->child;
    if (f->len & ENTRY_KEEP_URL) g->by &= ~DROP_URL;
    if (f->len & ENTRY_NO_PAGES) g->by &= ~KEEP_PAGES;
    if (f->len & ENTRY_EXEMPT) g->by = 0;
    g->index = (u16)(f - (const Entry *)(tab + n->entries));
  } else if (g->child != DROP && x && x->suffixes && drop_suffix(x, name, bytes)) g->child = ENDING;
  if ((g->by & (KEEP_PAGES | ONLY_NAMED)) == (KEEP_PAGES | ONLY_NAMED) && (!address_name(name, bytes) || (g->by & KEEP_ASKED && name_says(name, bytes) >= (f ? SAYS_ASKED : SAYS_OWN)))) g->by &= ~DROP_URL;
  p = gap(q + 1);
  return g;
}

// tell notes that a field that somebody may want was left out.
NOINLINE void tell(const Entry *f, const u8 *q) {
  if (f->len & ENTRY_TOLD && telling(q) && !ctl->told++) { ctl->told_name = f->key; ctl->told_len = f->len & ENTRY_LEN; }
}

// object keeps its own position q, and fuel in left; p and fuel are set before others look at them.
static int object(i32 node) {
  // Of the row of a bet, where the members are is noted for its condition.
  Member *note = UNLIKELY(bet == BET_ROW && known.row == p) ? known.m : 0, *noted = known.m + known.asked;
  u32 cost = 0;
  if (!enter()) return 0;
  const u8 *q = p = gap(p);
  if (*q == '}') { p++; depth--; return 1; }
  const Node *n = node_at(node);
  const u32 rules = n->rules, fields = n->fields;
  const i32 rest = n->rest;
  // Which fields were seen: 64 in a register, more on the stack.
  u64 seen = 0, more[fields > 64 ? (fields - 1) >> 6 : 1];
  for (u32 i = 0; i + 64 < fields; i += 64) more[i >> 6] = 0;
  u32 found = 0;
  int first = 1;
  Lone lone[MAX_LONE];
  u32 lones = 0;
  Guess own;
  u32 guess = (u32)node * GUESSES_APART;
  const u32 guess_of = run_number << 16 | (u32)node;
  i64 left = fuel;
  u32 shift = place(0);        // from a position in the input to its place
  u32 before = (u32)q + shift; // the end of what is kept until now
  for (;;) {
    if (UNLIKELY(is_space(*q))) { q = gap_far(q); shift = place(0); }
    const u8 *start = q;
    u32 escaped = 0;
    Guess *g = &guesses[(guess++) & (GUESSES - 1)];
    u32 length = g->len;
    if (LIKELY(g->of == guess_of) && LIKELY(matches(q, g->name, length + 3))) {
      q += length + 3;
      if (UNLIKELY(is_space(*q))) { q = gap_far(q); shift = place(0); }
    } else {
      p = q;
      g = look_up(node, g, &own, &length, &escaped);
      if (UNLIKELY(!g)) return 0;
      start = g->name;
      q = p;
      shift = place(0);
    }
    const u8 *at = q, c = *q;
    if (UNLIKELY(note != 0)) {
      note->name = start + 1; note->len = escaped ? (u32)ESCAPED : length; note->value = q; note->cost = cost;
      known.n++;
      if (++note == noted) note = 0;
    }
    i32 child = g->child;
    u32 address = 0;
    const u32 by = g->by, index = g->index;
    if (LIKELY(child != DROP)) {
      if (LIKELY(index != NO_FIELD)) {
        u64 *w = LIKELY(index < 64) ? &seen : &more[(index >> 6) - 1], b = 1ull << (index & 63);
        if (UNLIKELY(*w & b)) child = DROP;
        else { *w |= b; found++; }
      } else if (UNLIKELY(child == ENDING)) {
        child = DROP;
        address = rules & KEEP_LONE && first && c == '"' && dropped_string(q, DROP_URL);
      }
      if (child != DROP && (c == '"' ? dropped_string(q, by) : c >= 'f' && c <= 'n' && dropped_word(q, by))) {
        child = DROP;
        address = rules & KEEP_LONE && first && c == '"';
      }
    }
    if (child == DROP) {
      ctl->fields_dropped++;
      if (index != NO_FIELD) tell((const Entry *)(tab + n->entries) + index, q);
      take_back(before);
      fuel = left;
      from = q = skip_at(q);
      if (UNLIKELY(!q)) return 0;
      left = fuel;
      shift = place(0);
      if (UNLIKELY(address) && lones < MAX_LONE) {
        Lone *l = &lone[lones++];
        l->start = start; l->end = start + length + 2; l->value = at; l->after = q;
      }
    } else {
      u32 size;
      if ((c | 0x20) == '{' || UNLIKELY(c == '"' && child >= 0 && max_string(child))) {
        size = (u32)q + shift;
        p = q;
        fuel = left;
        if (!value(child, 1)) return 0;
        left = fuel;
        q = p;
        shift = place(0);
        size = (u32)q + shift - size;
      } else {
        if (UNLIKELY(--left < 0)) return fail(NO_FUEL);
        if (c == '"') {
          q = strict_string(q + 1, &escaped);
          if (UNLIKELY(!q)) return fail(NOT_JSON);
          left -= (u32)(q - at - 2) >> 6;
          if (UNLIKELY(left < 0)) return fail(NO_FUEL);
        } else {
          q = c >= 'f' ? literal_end(q) : number_end(q);
          if (UNLIKELY(!q)) return fail(NOT_JSON);
        }
        size = (u32)(q - at);
      }
      if (UNLIKELY(size == 2) && by & DROP_EMPTY && (c == '"' || (c | 0x20) == '{')) {
        take_back(before);
        from = q;
        shift = place(0);
        ctl->fields_dropped++;
      } else {
        first = 0;
        before = (u32)q + shift;
      }
    }
    if (UNLIKELY(rest == DROP && found == fields)) { // nothing more is wanted
      flush(q);
      if (first) keep_lone(lone, lones);
      const u8 *e = skip_container(q);
      if (!e) return fail(NOT_JSON);
      from = p = e; depth--; *out++ = '}';
      fuel = left;
      return charge((u32)(e - q) >> 6);
    }
    if (UNLIKELY(note != 0)) cost += skip_cost(at, q);
    if (UNLIKELY(is_space(*q))) { q = gap_far(q); shift = place(0); }
    if (LIKELY(*q == ',')) {
      q++;
      if (UNLIKELY(first)) { from = q = space_at(q); shift = place(0); }
      continue;
    }
    if (*q != '}') return fail(NOT_JSON);
    if (UNLIKELY(first)) keep_lone(lone, lones);
    p = q + 1; depth--; fuel = left;
    return 1;
  }
}
