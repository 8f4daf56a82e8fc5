// Which addresses programs follow, as in address.go. A part of engine.c.

enum { MAX_SEGMENTS = 3 };

// starts tells whether the text from s to e begins with the n bytes of w. Up to 8
// bytes are read whatever the length: the input is padded.
INLINE int starts(const u8 *s, const u8 *e, u64 w, u32 n) {
  return (u32)(e - s) >= n && !((ld64(s) ^ w) << (64 - 8 * n));
}

INLINE int is(const u8 *s, const u8 *e, u64 w, u32 n) { return (u32)(e - s) == n && starts(s, e, w, n); }

INLINE const u8 *host_end(const u8 *s, const u8 *e) {
  const v128_t S = wasm_i8x16_splat('/'), B = wasm_i8x16_splat('\\'), Q = wasm_i8x16_splat('?'), F = wasm_i8x16_splat('#');
  for (; s < e; s += 16) {
    v128_t v = wasm_v128_load(s);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_v128_or(wasm_i8x16_eq(v, S), wasm_i8x16_eq(v, B)), wasm_v128_or(wasm_i8x16_eq(v, Q), wasm_i8x16_eq(v, F))));
    if (m) { s += __builtin_ctz(m); break; }
  }
  return s < e ? s : e;
}

INLINE int has_brace(const u8 *s, const u8 *e) {
  const v128_t O = wasm_i8x16_splat('{'), C = wasm_i8x16_splat('}');
  for (; s < e; s += 16) {
    v128_t v = wasm_v128_load(s);
    u32 m = wasm_i8x16_bitmask(wasm_v128_or(wasm_i8x16_eq(v, O), wasm_i8x16_eq(v, C)));
    if (m) return s + __builtin_ctz(m) < e;
  }
  return 0;
}

// What a host says of its addresses. The one that was looked at last is remembered:
// most addresses of an answer have the same.
enum { HOST_PATH = 0, HOST_PAGES = 1, HOST_PROGRAMS = 2 };
static struct { const u8 *name; u32 len, says; } host;

NOINLINE u32 host_says(const u8 *s, const u8 *h) {
  if (starts(s, h, 0x636f64, 3) || starts(s, h, 0x706f6c65766564ull, 7) || starts(s, h, 0x706c6568, 4) || // doc, develop, help
      starts(s, h, 0x74726f70707573ull, 7)) // support
    return HOST_PAGES;
  for (const u8 *word = s, *q = s; q <= h; q++) {
    if (q < h && *q != '.' && *q != '-' && *q != ':') continue;
    if (is(word, q, 0x697061, 3) || starts(word, q, 0x726174617661ull, 6) || starts(word, q, 0x7261746176617267ull, 8)) return HOST_PROGRAMS; // api, avatar, gravatar
    word = q + 1;
  }
  return HOST_PATH;
}

static int is_version(const u8 *s, const u8 *e, int api) {
  const u8 *i = s;
  if (s < e && *s == 'v') i++;
  else if (!api) return 0;
  const u8 *from = i;
  while (i < e && (u8)(*i - '0') <= 9) i++;
  return i > from && i - from <= 2 && e - s <= 8 && (i == e || *i == '.' || (u8)(*i - 'a') < 26);
}

static int api_path(const u8 *s, const u8 *e) {
  int api = 0;
  for (u32 k = 1;; k++) {
    if (s < e && *s == '\\') s++;
    if (s >= e || *s != '/') return 0;
    const u8 *from = ++s;
    s = host_end(s, e);
    int last = s >= e || (*s != '/' && *s != '\\');
    if (last && s - from >= 5 && is(s - 5, s, 0x6e6f736a2eull, 5)) return 1; // .json
    if (k > MAX_SEGMENTS) {
      if (last) return 0;
      continue;
    }
    if (is(from, s, 0x736970615full, 5)) return 1; // _apis
    if (is(from, s, 0x697061, 3) || is(from, s, 0x74736572, 4)) { // api, rest
      if (k == 1 || api) return 1;
      api = 1;
      continue;
    }
    if (!last && is_version(from, s, api)) return 1;
    api = 0;
  }
}

INLINE int says_end(u64 t, u64 w, u32 n) { return !((t ^ w) << (64 - 8 * n)); }

// address_name tells whether a name ends as one that says that its value is an address.
// The last letter is compared first, so it is the lowest byte.
NOINLINE int address_name(const u8 *name, u32 n) {
  u64 t = 0;
  if (n > MAX_NAME) return 0;
  for (u32 i = 0; i < 8 && i < n; i++) {
    u8 c = name[n - 1 - i];
    if ((u8)(c - 'A') < 26) c |= 0x20;
    t |= (u64)c << (8 * i);
  }
  if (says_end(t, 0x75726cull, 3)) return 1; // url
  if (says_end(t, 0x75726c73ull, 4)) return 1; // urls
  if (says_end(t, 0x757269ull, 3)) return 1; // uri
  if (says_end(t, 0x75726973ull, 4)) return 1; // uris
  if (says_end(t, 0x697269ull, 3)) return 1; // iri
  if (says_end(t, 0x68726566ull, 4)) return 1; // href
  if (says_end(t, 0x6872656673ull, 5)) return 1; // hrefs
  if (says_end(t, 0x6c696e6bull, 4)) return 1; // link
  if (says_end(t, 0x6c696e6b73ull, 5)) return 1; // links
  if (says_end(t, 0x73656c66ull, 4)) return 1; // self
  if (says_end(t, 0x726566ull, 3)) return 1; // ref
  if (says_end(t, 0x406964ull, 3)) return 1; // @id
  if (says_end(t, 0x6669727374ull, 5)) return 1; // first
  if (says_end(t, 0x6c617374ull, 4)) return 1; // last
  if (says_end(t, 0x70726576ull, 4)) return 1; // prev
  if (says_end(t, 0x70726576696f7573ull, 8)) return 1; // previous
  if (says_end(t, 0x706172656e74ull, 6)) return 1; // parent
  if (says_end(t, 0x617661746172ull, 6)) return 1; // avatar
  if (says_end(t, 0x69636f6eull, 4)) return 1; // icon
  return 0;
}

enum { MAX_ASKED = 16 };

// Words of names whose addresses people ask for, by their first letters, as in address.go.
static const char *const asked_words[26] = {
  ['a' - 'a'] = "accept acs activate activation answer approval approve artifact artifacts artwork attachment audience audio authorization",
  ['b' - 'a'] = "badge banner barcode base booking browser",
  ['c' - 'a'] = "calendar callback cancellation canonical captions checkout clone conference confirm confirmation console content cover csv",
  ['d' - 'a'] = "dash dashboard data decline destination details dial dialin docs document documentation download dsn",
  ['e' - 'a'] = "embed endpoint epub esign export external",
  ['f' - 'a'] = "failover fallback faq feed file files final form forum",
  ['g' - 'a'] = "gif guide",
  ['h' - 'a'] = "hangout hangup health help hls homepage hook hosted html",
  ['i' - 'a'] = "ical identifier image ingest install installer invitation invite invoice iss issuer",
  ['j' - 'a'] = "join jpeg jpg json jwks",
  ['l' - 'a'] = "label license location log login logo logout logs long",
  ['m' - 'a'] = "m3u8 manifest manual media meet meeting metadata mp3 mp4 mpd",
  ['n' - 'a'] = "namespace next notification",
  ['o' - 'a'] = "oauth ogg openapi original",
  ['p' - 'a'] = "pay payment pdf permalink permanent photo picture play playback player png policy poll polling portal poster presigned preview privacy proof public put",
  ['q' - 'a'] = "qr qrcode",
  ['r' - 'a'] = "raw receipt recording recordings recovery redirect register registration registry report reschedule reset restore result results return ring room rss rtmp runbook",
  ['s' - 'a'] = "saml screenshot session setup share shared short sign signature signed signin signing signon signup slo source srt sso start status stream subtitles success support svg system",
  ['t' - 'a'] = "tarball target terms thumb thumbnail thumbnails thumbs token tracking transcript tutorial",
  ['u' - 'a'] = "ui unsubscribe upload userinfo",
  ['v' - 'a'] = "verification verify video vtt",
  ['w' - 'a'] = "watch wav web webhook webm webpage website webui whep whip wiki",
  ['x' - 'a'] = "xlsx xml",
  ['z' - 'a'] = "zip zipball zpl",
};

// Where each of the words is, found by its letters; made at the first run of an instance.
// It is twice as long as the words are many, so that a search ends soon.
enum { ASKED_SLOTS = 1024 };
static const char *asked_slots[ASKED_SLOTS];
static int asked_ready;

INLINE u32 asked_slot(u64 a, u64 b) { return (u32)((a ^ b << 1) * 0x9E3779B97F4A7C15ull >> 54); }

// letters are the up to 8 bytes of a word from s on, before e.
INLINE u64 letters(const char *s, const char *e) {
  u64 v = 0;
  for (u32 i = 0; i < 8 && s + i < e; i++) v |= (u64)(u8)s[i] << (8 * i);
  return v;
}

NOINLINE void asked_prepare(void) {
  for (u32 i = 0; i < 26; i++) {
    for (const char *w = asked_words[i], *e; w && *w; w = *e ? e + 1 : e) {
      for (e = w; *e && *e != ' ';) e++;
      u32 k = asked_slot(letters(w, e), letters(w + 8, e));
      while (asked_slots[k]) k = (k + 1) & (ASKED_SLOTS - 1);
      asked_slots[k] = w;
    }
  }
  asked_ready = 1;
}

// asked_word tells whether the n bytes of word, of which MAX_ASKED are there, are one of the words.
static int asked_word(const u8 *word, u32 n) {
  if (n < 2 || n > MAX_ASKED) return 0;
  const char *s = (const char *)word;
  for (u32 k = asked_slot(letters(s, s + n), letters(s + 8, s + n)); asked_slots[k]; k = (k + 1) & (ASKED_SLOTS - 1)) {
    const char *w = asked_slots[k];
    u32 i = 0;
    while (i < n && w[i] == s[i]) i++;
    if (i == n && (!w[n] || w[n] == ' ')) return 1;
  }
  return 0;
}

enum { SAYS_NOTHING = 0, SAYS_OWN = 1, SAYS_ASKED = 2 };

// Words of names that lead around in an API, as in address.go.
static const char *const way_words = "api association avatar collection curies edit favicon first gravatar icon index last list navigation odata page parent prev previous related resource self up";

static int way_word(const u8 *word, u32 n) {
  for (const char *w = way_words; *w; w++) {
    u32 i = 0;
    while (i < n && w[i] == (char)word[i]) i++;
    if (i == n && (!w[n] || w[n] == ' ')) return 1;
    while (*w && *w != ' ') w++;
    if (!*w) break;
  }
  return 0;
}

// plural tells whether a word is that of many: events, and not status, access or sms.
static int plural(const u8 *word, u32 n) {
  if (n < 4 || n > MAX_ASKED || word[n - 1] != 's') return 0;
  u8 c = word[n - 2];
  return c != 's' && c != 'u' && c != 'i';
}

// name_says tells whether a name has a word that says that its address is what people ask for,
// and else whether it is more than that of an address and leads to no other part of an API.
NOINLINE u32 name_says(const u8 *name, u32 n) {
  u8 word[MAX_ASKED];
  u32 size = 0, count = 0, way = 0, many = 0, before = 0; // many: the word that ended last is; before: the one before it
  if (!asked_ready) asked_prepare();
  int capital = 0;
  for (u32 i = 0; i <= n; i++) {
    u8 c = i < n ? name[i] : '_';
    int upper = (u8)(c - 'A') < 26, lower = (u8)(c - 'a') < 26 || (u8)(c - '0') < 10 || c >= 0x80;
    int small = i + 1 < n && (u8)(name[i + 1] - 'a') < 26;
    if (((!upper && !lower) || (upper && (!capital || small))) && size) {
      if (asked_word(word, size)) return SAYS_ASKED;
      way |= size <= MAX_ASKED && way_word(word, size);
      before = many;
      many = plural(word, size);
      count++;
      size = 0;
    }
    if ((capital = upper)) c |= 0x20;
    if (upper || lower) {
      if (size < MAX_ASKED) word[size] = c;
      size++;
    }
  }
  return count > 1 && !way && !before ? SAYS_OWN : SAYS_NOTHING;
}

// for_programs tells whether the URL from s to e, which is_url accepted, is one that
// programs follow and people do not open.
NOINLINE int for_programs(const u8 *s, const u8 *e) {
  while (*s != ':') s++;
  s++;
  for (int i = 0; i < 2; i++) {
    if (*s == '\\') s++;
    s++;
  }
  const u8 *h = host_end(s, e);
  if (has_brace(h, e)) return 1; // one in the host is where each customer has a host
  u32 n = (u32)(h - s);
  if (!host.name || host.len != n || !same_bytes(s, host.name, n)) {
    host.name = s;
    host.len = n;
    host.says = host_says(s, h);
  }
  return host.says == HOST_PATH ? api_path(h, e) : host.says == HOST_PROGRAMS;
}
