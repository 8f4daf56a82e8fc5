/* The loads of the benchmarks: nop, load the input, echo it, a tight loop. */
#include "testdata/extism.h"
static u8 buffer[1 << 20];
EXPORT(nop) int nop(void) { return 0; }
static u64 read_input(void) {
	u64 n = x_input_length(), i = 0;
	if (n > sizeof buffer) return 0;
	for (; i + 8 <= n; i += 8) {
		u64 v = x_input_load_u64(i);
		__builtin_memcpy(buffer + i, &v, 8);
	}
	for (; i < n; i++) buffer[i] = (u8)x_input_load_u8(i);
	return n;
}
EXPORT(load) int load(void) { return read_input() != x_input_length(); }
EXPORT(echo) int echo(void) {
	u64 n = read_input(), p = x_alloc(n), i = 0;
	for (; i + 8 <= n; i += 8) {
		u64 v;
		__builtin_memcpy(&v, buffer + i, 8);
		x_store_u64(p + i, v);
	}
	for (; i < n; i++) x_store_u8(p + i, buffer[i]);
	x_output_set(p, n);
	return 0;
}
/* A million rounds of a loop that nothing can fold away. */
EXPORT(loop) int loop(void) {
	u32 x = 1;
	for (u32 i = 0; i < 1000000; i++) { x = x * 1664525u + 1013904223u; __asm__ volatile("" : "+r"(x)); }
	return x == 0;
}
