/* For plugins of Sluice written in C: one header, no library.
 *
 *	#include "sluice.h"
 *
 *	SLUICE_TRANSFORM {
 *		sluice_bytes in = sluice_input();
 *		…
 *		return sluice_output(p, n);
 *	}
 *
 * Build it with "sluice plugin build", or with clang for the target wasm32. The
 * contract between plugins and gateways is docs/plugins/contract.md.
 *
 * Memory from sluice_alloc lasts until the call ends. */
#ifndef SLUICE_H
#define SLUICE_H

typedef unsigned char sluice_u8;
typedef unsigned int sluice_u32;
typedef unsigned long long sluice_u64;
typedef struct { sluice_u8 *at; sluice_u32 n; } sluice_bytes;

#define SLUICE_ENV(name) __attribute__((import_module("extism:host/env"), import_name(#name)))
SLUICE_ENV(alloc) sluice_u64 sluice_x_alloc(sluice_u64);
SLUICE_ENV(free) void sluice_x_free(sluice_u64);
SLUICE_ENV(length) sluice_u64 sluice_x_length(sluice_u64);
SLUICE_ENV(load_u8) sluice_u32 sluice_x_load_u8(sluice_u64);
SLUICE_ENV(load_u64) sluice_u64 sluice_x_load_u64(sluice_u64);
SLUICE_ENV(store_u8) void sluice_x_store_u8(sluice_u64, sluice_u32);
SLUICE_ENV(store_u64) void sluice_x_store_u64(sluice_u64, sluice_u64);
SLUICE_ENV(input_length) sluice_u64 sluice_x_input_length(void);
SLUICE_ENV(input_load_u8) sluice_u32 sluice_x_input_load_u8(sluice_u64);
SLUICE_ENV(input_load_u64) sluice_u64 sluice_x_input_load_u64(sluice_u64);
SLUICE_ENV(output_set) void sluice_x_output_set(sluice_u64, sluice_u64);
SLUICE_ENV(error_set) void sluice_x_error_set(sluice_u64);
SLUICE_ENV(config_get) sluice_u64 sluice_x_config_get(sluice_u64);
SLUICE_ENV(log_info) void sluice_x_log_info(sluice_u64);
SLUICE_ENV(log_warn) void sluice_x_log_warn(sluice_u64);
__attribute__((import_module("extism:host/user"), import_name("sluice_call"))) sluice_u64 sluice_x_call(sluice_u64);
__attribute__((import_module("extism:host/user"), import_name("sluice_derive"))) sluice_u64 sluice_x_derive(sluice_u64, sluice_u64, sluice_u64);
__attribute__((import_module("extism:host/user"), import_name("sluice_sign"))) sluice_u64 sluice_x_sign(sluice_u64, sluice_u64);
__attribute__((import_module("extism:host/user"), import_name("sluice_token"))) sluice_u64 sluice_x_token(sluice_u64);
__attribute__((import_module("extism:host/user"), import_name("sluice_token_fetch"))) sluice_u64 sluice_x_token_fetch(sluice_u64, sluice_u64);

extern sluice_u8 __heap_base;
static sluice_u32 sluice_heap;

/* sluice_alloc returns n bytes, or 0 when the memory limit is reached. */
static inline sluice_u8 *sluice_alloc(sluice_u32 n) {
	if (!sluice_heap) sluice_heap = (sluice_u32)&__heap_base;
	sluice_u32 at = (sluice_heap + 7) & ~7u;
	sluice_u64 end = (sluice_u64)at + n, have = (sluice_u64)__builtin_wasm_memory_size(0) << 16;
	if (end > have && __builtin_wasm_memory_grow(0, (sluice_u32)((end - have + 65535) >> 16)) == (sluice_u32)-1) return 0;
	sluice_heap = (sluice_u32)end;
	return (sluice_u8 *)at;
}

/* sluice_input returns the input; at is 0 when there is no memory for it. */
static inline sluice_bytes sluice_input(void) {
	sluice_u64 n = sluice_x_input_length(), i = 0;
	sluice_bytes b = {sluice_alloc((sluice_u32)n), (sluice_u32)n};
	if (!b.at) return b;
	for (; i + 32 <= n; i += 32) { /* four words a round: rounds are counted */
		sluice_u64 v[4] = {sluice_x_input_load_u64(i), sluice_x_input_load_u64(i + 8), sluice_x_input_load_u64(i + 16), sluice_x_input_load_u64(i + 24)};
		__builtin_memcpy(b.at + i, v, 32);
	}
	for (; i + 8 <= n; i += 8) {
		sluice_u64 v = sluice_x_input_load_u64(i);
		__builtin_memcpy(b.at + i, &v, 8);
	}
	for (; i < n; i++) b.at[i] = (sluice_u8)sluice_x_input_load_u8(i);
	return b;
}

/* sluice_put copies bytes to the exchange memory and returns their offset there; 0
 * when there is no room. */
static inline sluice_u64 sluice_put(const void *p, sluice_u32 n) {
	const sluice_u8 *b = (const sluice_u8 *)p; /* the cast is for C++ */
	sluice_u64 at = sluice_x_alloc(n);
	sluice_u32 i = 0;
	if (!at) return 0;
	for (; i + 32 <= n; i += 32) {
		sluice_u64 v[4];
		__builtin_memcpy(v, b + i, 32);
		sluice_x_store_u64(at + i, v[0]);
		sluice_x_store_u64(at + i + 8, v[1]);
		sluice_x_store_u64(at + i + 16, v[2]);
		sluice_x_store_u64(at + i + 24, v[3]);
	}
	for (; i + 8 <= n; i += 8) {
		sluice_u64 v;
		__builtin_memcpy(&v, b + i, 8);
		sluice_x_store_u64(at + i, v);
	}
	for (; i < n; i++) sluice_x_store_u8(at + i, b[i]);
	return at;
}

/* sluice_output makes n bytes the output. Return its result. */
static inline int sluice_output(const void *p, sluice_u32 n) {
	sluice_u64 at = n ? sluice_put(p, n) : 0;
	if (n && !at) return 1;
	sluice_x_output_set(at, n);
	return 0;
}

static inline sluice_u32 sluice_strlen(const char *s) {
	sluice_u32 n = 0;
	while (s[n]) n++;
	return n;
}

/* sluice_fail makes the call fail with a message. Return its result. */
static inline int sluice_fail(const char *message) {
	sluice_x_error_set(sluice_put(message, sluice_strlen(message)));
	return 1;
}

/* sluice_fail_bytes is sluice_fail for a message that is not a C string. */
static inline int sluice_fail_bytes(sluice_bytes message) {
	sluice_x_error_set(sluice_put(message.at, message.n));
	return 1;
}

static inline sluice_u32 sluice_hex4(const sluice_u8 *p) {
	sluice_u32 v = 0;
	for (sluice_u32 i = 0; i < 4; i++) {
		sluice_u8 c = p[i];
		v = v << 4 | ((c <= '9' ? c - '0' : (c | 32) - 'a' + 10) & 15u);
	}
	return v;
}

/* sluice_unescape turns the inside of a JSON string into its text, in UTF-8. */
static inline sluice_bytes sluice_unescape(sluice_bytes s) {
	sluice_bytes out = {sluice_alloc(s.n), 0};
	if (!out.at) return out;
	for (sluice_u32 i = 0; i < s.n; i++) {
		sluice_u32 c = s.at[i];
		if (c != '\\' || i + 1 == s.n) {
			out.at[out.n++] = (sluice_u8)c;
			continue;
		}
		c = s.at[++i];
		if (c != 'u' || i + 4 >= s.n) {
			out.at[out.n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : (sluice_u8)c;
			continue;
		}
		c = sluice_hex4(s.at + i + 1);
		i += 4;
		if (c >> 10 == 0x36 && i + 6 < s.n && s.at[i + 1] == '\\' && s.at[i + 2] == 'u' && sluice_hex4(s.at + i + 3) >> 10 == 0x37) {
			c = 0x10000 + ((c & 0x3ff) << 10) + (sluice_hex4(s.at + i + 3) & 0x3ff);
			i += 6;
		}
		if (c >= 0x10000) {
			out.at[out.n++] = (sluice_u8)(0xf0 | c >> 18);
			out.at[out.n++] = (sluice_u8)(0x80 | (c >> 12 & 63));
		} else if (c >= 0x800) {
			out.at[out.n++] = (sluice_u8)(0xe0 | c >> 12);
		} else if (c >= 0x80) {
			out.at[out.n++] = (sluice_u8)(0xc0 | c >> 6);
		}
		if (c >= 0x800) out.at[out.n++] = (sluice_u8)(0x80 | (c >> 6 & 63));
		out.at[out.n++] = (sluice_u8)(c < 0x80 ? c : 0x80 | (c & 63));
	}
	return out;
}

/* sluice_fail_json is sluice_fail for the inside of a JSON string, such as the error of a
 * result of sluice_next. */
static inline int sluice_fail_json(sluice_bytes message) { return sluice_fail_bytes(sluice_unescape(message)); }

/* sluice_take copies a block of the exchange memory and frees it; n is 0 for none, or
 * when there is no memory. */
static inline sluice_bytes sluice_take(sluice_u64 at) {
	sluice_bytes b = {0, 0};
	if (!at) return b;
	b.n = (sluice_u32)sluice_x_length(at);
	b.at = sluice_alloc(b.n);
	if (!b.at) b.n = 0;
	sluice_u32 i = 0;
	for (; i + 8 <= b.n; i += 8) {
		sluice_u64 v = sluice_x_load_u64(at + i);
		__builtin_memcpy(b.at + i, &v, 8);
	}
	for (; i < b.n; i++) b.at[i] = (sluice_u8)sluice_x_load_u8(at + i);
	sluice_x_free(at);
	return b;
}

/* sluice_config returns a setting, or what the contract names of the call
 * ("sluice.tool", "sluice.arguments"); n is 0 when there is none. */
static inline sluice_bytes sluice_config(const char *name) {
	sluice_u64 key = sluice_put(name, sluice_strlen(name)), at = sluice_x_config_get(key);
	sluice_x_free(key);
	return sluice_take(at);
}

/* sluice_log writes a line to the gateway's log; sluice_warn one that matters. */
static inline void sluice_log(const char *line) { sluice_x_log_info(sluice_put(line, sluice_strlen(line))); }
static inline void sluice_warn(const char *line) { sluice_x_log_warn(sluice_put(line, sluice_strlen(line))); }

/* sluice_call makes calls of tools for a workflow, one a line, and returns their
 * results, one a line, to be taken by sluice_next. Several lines run at once.
 *
 *	{"tool":"get_order","arguments":{"id":7}}
 *
 * n is 0 when there is no memory. What breaks a rule of the contract ends the call. */
static inline sluice_bytes sluice_call(const void *lines, sluice_u32 n) {
	return sluice_take(sluice_x_call(sluice_put(lines, n)));
}

/* A result of a call: one of value (JSON as it is), text and error (the inside of a
 * JSON string, escapes included) has an address. status is the HTTP status of the
 * upstream, 0 when there was no answer. */
typedef struct { int status; sluice_bytes value, text, error; } sluice_result;

static inline int sluice_member(sluice_bytes line, sluice_u32 at, const char *name, sluice_bytes *out) {
	sluice_u32 n = sluice_strlen(name), quote = name[n - 1] == '"';
	if (at + n >= line.n) return 0;
	for (sluice_u32 i = 0; i < n; i++)
		if (line.at[at + i] != (sluice_u8)name[i]) return 0;
	out->at = line.at + at + n;
	out->n = line.n - 1 - at - n - quote;
	return 1;
}

/* sluice_next takes the first result off; its status is -1 when there is none left. */
static inline sluice_result sluice_next(sluice_bytes *results) {
	sluice_result r = {-1, {0, 0}, {0, 0}, {0, 0}};
	sluice_bytes line = {results->at, 0};
	sluice_u32 at = 10; /* {"status": */
	while (line.n < results->n && line.at[line.n] != '\n') line.n++;
	sluice_u32 rest = line.n + (line.n < results->n);
	results->at += rest;
	results->n -= rest;
	if (line.n <= at) return r;
	for (r.status = 0; at < line.n && line.at[at] >= '0' && line.at[at] <= '9'; at++) r.status = r.status * 10 + (line.at[at] - '0');
	if (!sluice_member(line, at, ",\"value\":", &r.value) && !sluice_member(line, at, ",\"text\":\"", &r.text))
		sluice_member(line, at, ",\"error\":\"", &r.error);
	return r;
}

/* sluice_derive makes a key of one that a handle stands for, and returns its handle: the keyed
 * hash of a message with a prefix and the key as its secret. */
static inline sluice_u64 sluice_derive(sluice_u64 handle, const void *prefix, sluice_u32 prefix_n, const void *message, sluice_u32 n) {
	return sluice_x_derive(handle, prefix_n ? sluice_put(prefix, prefix_n) : 0, sluice_put(message, n));
}

/* sluice_sign signs a message with the key that a handle stands for; n is 0 when there is no
 * memory for the signature. */
static inline sluice_bytes sluice_sign(sluice_u64 handle, const void *message, sluice_u32 n) {
	return sluice_take(sluice_x_sign(handle, sluice_put(message, n)));
}

/* sluice_token returns the handle of a token that was fetched under a name, 0 when there is
 * none; sluice_token_fetch has one fetched: {"url":"https://…","body":"…"}. */
static inline sluice_u64 sluice_token(const void *name, sluice_u32 n) { return sluice_x_token(sluice_put(name, n)); }
static inline sluice_u64 sluice_token_fetch(const void *name, sluice_u32 n, const void *request, sluice_u32 request_n) {
	return sluice_x_token_fetch(sluice_put(name, n), sluice_put(request, request_n));
}

#define SLUICE_ENTRY(name) \
	static int sluice_run(void); \
	__attribute__((export_name(name))) int sluice_entry(void) { \
		sluice_heap = 0; \
		return sluice_run(); \
	} \
	static int sluice_run(void)

/* SLUICE_TRANSFORM begins a filter or projection: a function that returns 0, or
 * what sluice_output or sluice_fail returned. */
#define SLUICE_TRANSFORM SLUICE_ENTRY("transform_response")

/* SLUICE_WORKFLOW begins a workflow: the input is the arguments of its tool, a JSON
 * object, and the output its answer. */
#define SLUICE_WORKFLOW SLUICE_ENTRY("run_workflow")

/* SLUICE_AUTH begins an auth plugin: the input is the request, the output what is set on it. */
#define SLUICE_AUTH SLUICE_ENTRY("transform_request")

#endif
