/* stamp is a plugin of tests: it signs requests, or breaks a rule of signing. */
#include "sluice.h"

static sluice_u32 length(const char *s) {
	sluice_u32 n = 0;
	while (s[n]) n++;
	return n;
}

static sluice_u64 text(const char *s) { return sluice_put(s, length(s)); }

static sluice_u32 put(sluice_u8 *to, const char *s) {
	sluice_u32 n = length(s);
	for (sluice_u32 i = 0; i < n; i++) to[i] = (sluice_u8)s[i];
	return n;
}

__attribute__((export_name("transform_request"))) int transform_request(void) {
	sluice_bytes mood = sluice_config("mood");
	char m = mood.n ? (char)mood.at[0] : 0;
	sluice_u8 *out = sluice_alloc(256);
	sluice_u32 n = 0;
	if (m == 'h') { /* a header that is the connection's */
		n = put(out, "{\"headers\":{\"Host\":\"evil.example\"}}");
		return sluice_output(out, n);
	}
	if (m == 'n') return sluice_output("nonsense", 8);
	if (m == 'f') return sluice_fail("no wish to sign");
	sluice_u64 day = sluice_x_derive(m == 's' ? 99 : 1, text("K"), text("day"));
	if (m == 'e') sluice_x_sign(day, text("region")); /* it would be the next key */
	sluice_u64 region = sluice_x_derive(day, m == 'p' ? text("K") : 0, text("region"));
	if (m == 'd') region = sluice_x_derive(region, 0, text("more"));
	sluice_u64 at = sluice_x_sign(region, text("hello"));
	if (m == 'a') sluice_x_derive(1, 0, text("again"));
	n += put(out + n, "{\"headers\":{\"X-Signature\":\"");
	for (sluice_u32 i = 0; i < sluice_x_length(at); i++) {
		sluice_u32 b = sluice_x_load_u8(at + i);
		out[n++] = (sluice_u8)"0123456789abcdef"[b >> 4];
		out[n++] = (sluice_u8)"0123456789abcdef"[b & 15];
	}
	n += put(out + n, "\"},\"query\":[[\"signed by\",\"stamp\"]]}");
	return sluice_output(out, n);
}
