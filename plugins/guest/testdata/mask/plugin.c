/* mask is a plugin of Sluice: it masks the local part of e-mail addresses. */
#include "sluice.h"

static int local(sluice_u8 c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+';
}

SLUICE_TRANSFORM {
	sluice_bytes in = sluice_input(), mask = sluice_config("mask");
	if (!in.at && in.n) return sluice_fail("no memory for the answer");
	if (!mask.n) mask = (sluice_bytes){(sluice_u8 *)"***", 3};
	sluice_u32 found = 0;
	for (sluice_u32 i = 0; i < in.n; i++) found += in.at[i] == '@';
	sluice_u8 *out = sluice_alloc(in.n + found * mask.n);
	if (!out) return sluice_fail("no memory for the result");
	sluice_u32 n = 0, start = 0; /* start: where in out the word began */
	for (sluice_u32 i = 0; i < in.n; i++) {
		if (in.at[i] == '@' && n > start) {
			n = start;
			for (sluice_u32 j = 0; j < mask.n; j++) out[n++] = mask.at[j];
		}
		out[n++] = in.at[i];
		if (!local(in.at[i])) start = n;
	}
	return sluice_output(out, n);
}
