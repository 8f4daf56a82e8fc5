/* jwt signs requests with a JSON Web Token of its own (RFC 7523, "self-signed"): the claims are
 * of its configuration, the key is behind a handle and never here. The same token serves as an
 * assertion for a token endpoint. */
#include "sluice.h"

static sluice_u8 out[8192];
static sluice_u32 n;

static void put_n(const void *p, sluice_u32 len) {
	for (sluice_u32 i = 0; i < len && n < sizeof out; i++) out[n++] = ((const sluice_u8 *)p)[i];
}

static void put(const char *s) { put_n(s, sluice_strlen(s)); }

/* put_base64 appends base64url without padding. */
static void put_base64(const sluice_u8 *p, sluice_u32 len) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	for (sluice_u32 i = 0; i < len; i += 3) {
		sluice_u32 v = (sluice_u32)p[i] << 16 | (i + 1 < len ? (sluice_u32)p[i + 1] << 8 : 0) | (i + 2 < len ? p[i + 2] : 0);
		put_n(digits + (v >> 18), 1);
		put_n(digits + (v >> 12 & 63), 1);
		if (i + 1 < len) put_n(digits + (v >> 6 & 63), 1);
		if (i + 2 < len) put_n(digits + (v & 63), 1);
	}
}

/* put_string appends a JSON string. Configuration with a quote or a control character is refused
 * by the schema. */
static void put_string(sluice_bytes b) {
	put("\"");
	put_n(b.at, b.n);
	put("\"");
}

static void put_number(sluice_u64 v) {
	char digits[20];
	int k = 0;
	do digits[k++] = (char)('0' + v % 10); while (v /= 10);
	while (k) put_n(digits + --k, 1);
}

/* find returns what follows a text in b; n is 0 when it is not there. */
static sluice_bytes find(sluice_bytes b, const char *text) {
	sluice_u32 len = sluice_strlen(text);
	for (sluice_u32 i = 0; i + len <= b.n; i++) {
		sluice_u32 k = 0;
		while (k < len && b.at[i + k] == (sluice_u8)text[k]) k++;
		if (k == len) return (sluice_bytes){b.at + i + len, b.n - i - len};
	}
	return (sluice_bytes){0, 0};
}

static sluice_u64 digits(const sluice_u8 *p, int k) {
	sluice_u64 v = 0;
	for (; k--; p++) v = v * 10 + (*p - '0');
	return v;
}

/* seconds turns 2026-03-01T12:00:00Z into seconds since 1970 (days from civil). */
static sluice_u64 seconds(const sluice_u8 *t) {
	sluice_u64 y = digits(t, 4), m = digits(t + 5, 2), d = digits(t + 8, 2);
	y -= m <= 2;
	sluice_u64 era = y / 400, year = y - era * 400;
	sluice_u64 day = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
	sluice_u64 days = era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
	return days * 86400 + digits(t + 11, 2) * 3600 + digits(t + 14, 2) * 60 + digits(t + 17, 2);
}

SLUICE_AUTH {
	sluice_bytes in = sluice_input(), time = find(in, "\"time\":\""), issuer = sluice_config("issuer"), audience = sluice_config("audience");
	if (time.n < 20) return sluice_fail("the request has no time");
	sluice_u64 now = seconds(time.at);
	n = 0;
	put("{\"iss\":");
	put_string(issuer);
	put(",\"aud\":");
	put_string(audience);
	put(",\"iat\":");
	put_number(now);
	put(",\"exp\":");
	put_number(now + 300);
	put("}");
	sluice_bytes claims = {sluice_alloc(n), n};
	if (!claims.at) return sluice_fail("there is no memory for the claims");
	for (sluice_u32 i = 0; i < n; i++) claims.at[i] = out[i];
	static const char header[] = "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}";
	n = 0;
	put("{\"headers\":{\"Authorization\":\"Bearer ");
	sluice_u32 from = n;
	put_base64((const sluice_u8 *)header, sizeof header - 1);
	put(".");
	put_base64(claims.at, claims.n);
	sluice_bytes signature = sluice_sign(1, out + from, n - from);
	put(".");
	put_base64(signature.at, signature.n);
	put("\"}}");
	return sluice_output(out, n);
}
