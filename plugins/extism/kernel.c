//go:build ignore

/* The Extism kernel: memory, input, output and errors of one plugin instance, as
 * WebAssembly, so that a plugin's loads and stores never leave compiled code.
 * Each plugin instance is linked with its own instance of this module.
 *
 * Heap: blocks with a 16-byte header, a bump pointer, and free lists by power of
 * two. Every operation takes constant time (wiping and growing apart), because
 * this code is not metered. A plugin can write anywhere in the heap, also over
 * headers: what is read from there is checked, a plugin only harms itself, and
 * the host checks every range it reads. What is below the heap (this module's
 * state) is out of a plugin's reach.
 *
 * Deviations from Extism's kernel: loads and stores outside the heap trap, where
 * Extism's returns zero or ignores them.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("sluice:kernel"), import_name(#name)))

extern u8 __heap_base;

enum { PAGE = 65536, HEADER = 16, ACTIVE = 0x6c756963, FREED = 0x66726565, CLASSES = 32 };

typedef struct block {
	u32 size;  /* bytes behind the header, a multiple of 16 */
	u32 used;  /* bytes that were asked for */
	u32 state; /* ACTIVE or FREED */
	u32 next;  /* the next free block of its class, or 0 */
} block;

/* The host reads this after a call: finish returns its address. */
static struct {
	u64 output_at, output_length;
	u64 error_at;
	u64 input_at, input_length;
	u64 brk; /* where the heap ends */
	u64 top; /* the furthest it reached: freed blocks at its end are given back unwiped */
} state;

static u32 lists[CLASSES]; /* free blocks by floor(log2(size)) */

static u64 base(void) { return ((u64)(u32)&__heap_base + 15) & ~15ull; }

static u32 log2floor(u32 n) { return 31 - (u32)__builtin_clz(n); }

static block *header(u64 p) { return (block *)(u32)(p - HEADER); }

/* inside reports whether a plugin may touch n bytes at p; what lies past the end
 * of memory traps by itself. */
static int inside(u64 p, u64 n) { return p >= base() && p <= 0x100000000ull - n; }

/* valid reports whether p is a block in use. */
static int valid(u64 p) {
	if (p < base() + HEADER || p >= state.brk || (p & 15)) return 0;
	block *b = header(p);
	return b->state == ACTIVE && b->size <= state.brk - p && b->used <= b->size;
}

/* pop takes the first block of a free list when it has room for n bytes. */
static u64 pop(u32 class, u32 n) {
	u64 p = lists[class];
	if (!p) return 0;
	if (p < base() + HEADER || p >= state.brk || (p & 15)) __builtin_trap();
	block *b = header(p);
	if (b->state != FREED || b->size > state.brk - p) __builtin_trap();
	if (b->size < n) return 0;
	lists[class] = b->next;
	return p;
}

EXPORT(alloc) u64 alloc(u64 n) {
	if (n == 0 || n > 0xffff0000ull) return 0;
	u32 size = ((u32)n + 15) & ~15u;
	u32 class = log2floor(size);
	u64 p = pop(class, size);
	if (!p && class + 1 < CLASSES) p = pop(class + 1, size);
	if (!p) {
		p = state.brk + HEADER;
		u64 end = p + size;
		u64 have = (u64)__builtin_wasm_memory_size(0) * PAGE;
		if (end > have) {
			u64 pages = (end - have + PAGE - 1) / PAGE;
			if (end > 0xffff0000ull || __builtin_wasm_memory_grow(0, (u32)pages) == (u32)-1) return 0;
		}
		state.brk = end;
		if (end > state.top) state.top = end;
		header(p)->size = size;
	}
	block *b = header(p);
	b->used = (u32)n;
	b->state = ACTIVE;
	b->next = 0;
	return p;
}

EXPORT(free) void free_(u64 p) {
	if (!valid(p)) return;
	block *b = header(p);
	if (p == state.input_at) state.input_length = 0;
	b->state = FREED;
	if (p + b->size == state.brk) { /* the last one: give it back */
		state.brk = p - HEADER;
		return;
	}
	if (b->size < 16) return; /* its header was written over */
	u32 class = log2floor(b->size);
	b->next = lists[class];
	lists[class] = (u32)p;
}

EXPORT(length) u64 length(u64 p) { return valid(p) ? header(p)->used : 0; }
EXPORT(length_unsafe) u64 length_unsafe(u64 p) { return length(p); }

EXPORT(load_u8) u32 load_u8(u64 p) {
	if (!inside(p, 1)) __builtin_trap();
	return *(u8 *)(u32)p;
}

EXPORT(load_u64) u64 load_u64(u64 p) {
	if (!inside(p, 8)) __builtin_trap();
	u64 v;
	__builtin_memcpy(&v, (void *)(u32)p, 8);
	return v;
}

EXPORT(store_u8) void store_u8(u64 p, u32 v) {
	if (!inside(p, 1)) __builtin_trap();
	*(u8 *)(u32)p = (u8)v;
}

EXPORT(store_u64) void store_u64(u64 p, u64 v) {
	if (!inside(p, 8)) __builtin_trap();
	__builtin_memcpy((void *)(u32)p, &v, 8);
}

EXPORT(input_set) void input_set(u64 p, u64 n) {
	if (n && !inside(p, n)) __builtin_trap();
	state.input_at = p;
	state.input_length = n;
}

EXPORT(input_length) u64 input_length(void) { return state.input_length; }
EXPORT(input_offset) u64 input_offset(void) { return state.input_at; }

EXPORT(input_load_u8) u32 input_load_u8(u64 at) {
	if (at >= state.input_length) return 0;
	return *(u8 *)(u32)(state.input_at + at);
}

EXPORT(input_load_u64) u64 input_load_u64(u64 at) {
	if (state.input_length < 8 || at > state.input_length - 8) return 0;
	u64 v;
	__builtin_memcpy(&v, (void *)(u32)(state.input_at + at), 8);
	return v;
}

EXPORT(output_set) void output_set(u64 p, u64 n) {
	state.output_at = p;
	state.output_length = n;
}

EXPORT(output_length) u64 output_length(void) { return state.output_length; }
EXPORT(output_offset) u64 output_offset(void) { return state.output_at; }
EXPORT(error_set) void error_set(u64 p) { state.error_at = p; }
EXPORT(error_get) u64 error_get(void) { return state.error_at; }
EXPORT(memory_bytes) u64 memory_bytes(void) { return (u64)__builtin_wasm_memory_size(0) * PAGE; }

/* reset forgets all blocks and wipes what they held. A plugin that writes past the
 * heap only leaves something to itself: what others sent was in blocks. */
EXPORT(reset) void reset(void) {
	u64 start = base();
	if (state.top > start) __builtin_memset((void *)(u32)start, 0, (u32)(state.top - start));
	__builtin_memset(&state, 0, sizeof state);
	__builtin_memset(lists, 0, sizeof lists);
	state.brk = start;
}

/* For the host: starts a call with n bytes of input and returns where they go; 0
 * when there is no memory for them, or no bytes. */
EXPORT(begin) u64 begin(u64 n) {
	reset();
	u64 p = alloc(n);
	state.input_at = p;
	state.input_length = p ? n : 0;
	return p;
}

/* For the host: where state is. */
EXPORT(finish) u64 finish(void) { return (u32)&state; }

/* What needs the host passes through: a plugin's imports all resolve to this
 * module. */
IMPORT(config_get) u64 host_config_get(u64);
IMPORT(var_get) u64 host_var_get(u64);
IMPORT(var_set) void host_var_set(u64, u64);
IMPORT(http_request) u64 host_http_request(u64, u64);
IMPORT(http_status_code) u32 host_http_status_code(void);
IMPORT(http_headers) u64 host_http_headers(void);
IMPORT(get_log_level) u32 host_get_log_level(void);
IMPORT(log) void host_log(u32, u64);

EXPORT(config_get) u64 config_get(u64 k) { return host_config_get(k); }
EXPORT(var_get) u64 var_get(u64 k) { return host_var_get(k); }
EXPORT(var_set) void var_set(u64 k, u64 v) { host_var_set(k, v); }
EXPORT(http_request) u64 http_request(u64 r, u64 b) { return host_http_request(r, b); }
EXPORT(http_status_code) u32 http_status_code(void) { return host_http_status_code(); }
EXPORT(http_headers) u64 http_headers(void) { return host_http_headers(); }
EXPORT(get_log_level) u32 get_log_level(void) { return host_get_log_level(); }
EXPORT(log_trace) void log_trace(u64 p) { host_log(0, p); }
EXPORT(log_debug) void log_debug(u64 p) { host_log(1, p); }
EXPORT(log_info) void log_info(u64 p) { host_log(2, p); }
EXPORT(log_warn) void log_warn(u64 p) { host_log(3, p); }
EXPORT(log_error) void log_error(u64 p) { host_log(4, p); }
