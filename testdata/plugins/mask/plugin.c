/* mask is a plugin of Sluice: it masks the local part of e-mail addresses. */
#include "sluice.h"

static int local(sluice_u8 c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+';
}

/* find returns where the next @ is from i on, looking at eight bytes at once; n when
 * there is none. */
static sluice_u32 find(const sluice_u8 *p, sluice_u32 i, sluice_u32 n) {
	const sluice_u64 ones = 0x0101010101010101, high = ones << 7;
	for (; i + 8 <= n; i += 8) {
		sluice_u64 v;
		__builtin_memcpy(&v, p + i, 8);
		v ^= ones * '@';
		v = (v - ones) & ~v & high; /* the lowest bit that is set is of the first @ */
		if (v) return i + ((sluice_u32)__builtin_ctzll(v) >> 3);
	}
	while (i < n && p[i] != '@') i++;
	return i;
}

static sluice_u32 put(sluice_u8 *to, const sluice_u8 *from, sluice_u32 n) {
	__builtin_memcpy(to, from, n);
	return n;
}

SLUICE_TRANSFORM {
	sluice_bytes in = sluice_input(), mask = sluice_config("mask");
	if (!in.at && in.n) return sluice_fail("no memory for the answer");
	if (!mask.n) mask = (sluice_bytes){(sluice_u8 *)"***", 3};
	sluice_u32 found = 0;
	for (sluice_u32 i = find(in.at, 0, in.n); i < in.n; i = find(in.at, i + 1, in.n)) found++;
	sluice_u8 *out = sluice_alloc(in.n + found * mask.n);
	if (!out) return sluice_fail("no memory for the result");
	sluice_u32 n = 0, from = 0; /* from: what was not copied yet */
	for (sluice_u32 i = find(in.at, 0, in.n); i < in.n; i = find(in.at, i + 1, in.n)) {
		sluice_u32 start = i;
		while (start > from && local(in.at[start - 1])) start--;
		if (start == i) continue;
		n += put(out + n, in.at + from, start - from);
		n += put(out + n, mask.at, mask.n);
		from = i;
	}
	n += put(out + n, in.at + from, in.n - from);
	return sluice_output(out, n);
}
