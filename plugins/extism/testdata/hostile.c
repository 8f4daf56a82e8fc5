/* Everything a plugin should not do, one export each. */
#include "testdata/extism.h"
static u8 table_like[64];
EXPORT(spin) int spin(void) { for (;;) __asm__ volatile(""); }
static int deep(volatile int *p) { int x = *p; return deep(&x) + x; }
EXPORT(recurse) int recurse(void) { volatile int x = 1; return deep(&x); }
static u32 plain(u32 n, u32 m) { __asm__ volatile("" : "+r"(n), "+r"(m)); return n == m ? 0 : plain(n + 1, m) + n; }
EXPORT(recurse_calls) int recurse_calls(void) { return (int)plain(1, 0); }
EXPORT(grow) int grow(void) {
	u32 pages = 0;
	while (__builtin_wasm_memory_grow(0, 1) != (u32)-1) pages++;
	u64 p = x_alloc(8);
	x_store_u64(p, pages);
	x_output_set(p, 8);
	return 0;
}
EXPORT(alloc_all) int alloc_all(void) {
	u64 n = 0;
	while (x_alloc(65536)) n++;
	static u8 out[8];
	(void)out;
	return n > 100000;
}
EXPORT(alloc_tiny) int alloc_tiny(void) { while (x_alloc(1)); return 0; }
EXPORT(alloc_free) int alloc_free(void) {
	for (u32 i = 0; i < 200000; i++) {
		u64 a = x_alloc(1 + i % 5000), b = x_alloc(100);
		if (!a || !b) return 1;
		x_free(a);
		x_free(b);
	}
	return 0;
}
EXPORT(alloc_huge) int alloc_huge(void) { return x_alloc(~0ull) || x_alloc(1ull << 40) || x_alloc(0xfffffff0u); }
EXPORT(fill) int fill(void) { for (;;) __builtin_memset((void *)65536, 1, ((u32)__builtin_wasm_memory_size(0) - 1) * 65536); }
EXPORT(output_huge) int output_huge(void) { x_output_set(0, ~0ull); return 0; }
EXPORT(output_outside) int output_outside(void) { x_output_set(1ull << 33, 10); return 0; }
EXPORT(output_past) int output_past(void) { u64 p = x_alloc(10); x_output_set(p, 1 << 20); return 0; }
EXPORT(output_low) int output_low(void) { x_output_set(0, 4096); return 0; }
EXPORT(error_outside) int error_outside(void) { x_error_set(0x7fffff00); return 1; }
EXPORT(store_low) int store_low(void) { x_store_u64(16, 1); return 0; }
EXPORT(store_high) int store_high(void) { x_store_u64(0xfffffff0ull, 1); return 0; }
EXPORT(store_wrap) int store_wrap(void) { x_store_u64((1ull << 32) + 4096, 1); return 0; }
EXPORT(load_low) int load_low(void) { return (int)x_load_u64(0); }
EXPORT(load_wrap) int load_wrap(void) { return (int)x_load_u8(~0ull); }
/* Writes over block headers, then frees and allocates. */
EXPORT(forge) int forge(void) {
	u64 a = x_alloc(100), b = x_alloc(100), c = x_alloc(100);
	for (u64 p = a - 16; p < c + 112; p += 8) x_store_u64(p, 0xffffffff00000010ull);
	x_free(a); x_free(b); x_free(c);
	u64 l = x_length(b);
	x_alloc(100); x_alloc(50);
	return l > 0;
}
EXPORT(forge_list) int forge_list(void) {
	u64 a = x_alloc(100), b = x_alloc(100);
	x_alloc(16);
	x_free(a); x_free(b);
	x_store_u64(b - 8, 0x66726565ull | 0x10ull << 32);
	x_alloc(100);
	x_alloc(100);
	x_alloc(100);
	return 0;
}
EXPORT(forge_length) int forge_length(void) {
	u64 a = x_alloc(112);
	x_store_u64(a - 16, 0xffffffffffffffffull);
	x_error_set(a);
	return 1;
}
EXPORT(trap) int trap(void) { __builtin_trap(); }
EXPORT(own_memory) int own_memory(void) { return *(volatile int *)0x7ffffff0; }
EXPORT(log_flood) int log_flood(void) { u64 p = TEXT("flood"); for (u32 i = 0; i < 100000; i++) { p = TEXT("flood"); x_log_error(p); x_free(p); } return 0; }
EXPORT(log_big) int log_big(void) { x_log_error(x_alloc(1 << 20)); return 0; }
EXPORT(log_bad) int log_bad(void) { x_log_info(12345); return 0; }
EXPORT(config_probe) int config_probe(void) {
	u32 found = 0;
	for (u32 i = 0; i < 1000; i++) {
		char name[4] = {(char)('a' + i % 26), (char)('a' + i / 26 % 26), 0, 0};
		u64 k = put(name, 2);
		u64 v = x_config_get(k);
		if (v) found++;
		x_free(k);
	}
	return (int)found;
}
EXPORT(storm) int storm(void) { for (;;) { u64 k = TEXT("k"); x_config_get(k); x_free(k); } }
EXPORT(vars) int vars(void) {
	for (u32 i = 0;; i++) { u64 k = x_alloc(8); x_store_u64(k, i); x_var_set(k, x_alloc(4096)); }
}
EXPORT(remember) int remember(void) {
	u64 k = TEXT("seen"), v = x_var_get(k);
	x_var_set(TEXT("seen"), TEXT("yes"));
	return v != 0;
}
/* Host calls between short bursts: no burst is long, the whole is endless. */
EXPORT(drip) int drip(void) {
	for (;;) { for (u32 i = 0; i < 100; i++) __asm__ volatile(""); x_input_length(); table_like[0]++; }
}
/* Reads everything the kernel's memory holds and returns a byte that is not 0. */
EXPORT(scavenge) int scavenge(void) {
	u64 p = x_alloc(1 << 16);
	for (u32 i = 0; i < 1 << 16; i += 8) { if (x_load_u64(p + i)) return 1; }
	return 0;
}
EXPORT(fetch) int fetch(void) {
	u64 r = x_http_request(TEXT("{\"url\":\"http://169.254.169.254/latest\"}"), 0);
	return (int)r;
}
EXPORT(echo) int echo(void) {
	u64 n = x_input_length(), p = x_alloc(n);
	for (u64 i = 0; i < n; i++) x_store_u8(p + i, x_input_load_u8(i));
	x_output_set(p, n);
	return 0;
}
EXPORT(fail) int fail(void) { x_error_set(TEXT("no such thing")); return 7; }
EXPORT(two_params) int two_params(int a, int b) { return a + b; }
