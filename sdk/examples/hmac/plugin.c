/* hmac signs requests as webhooks and many APIs do: X-Timestamp, and X-Signature, the HMAC-SHA-256
 * of the time, the method and the hash of the body, in hexadecimal digits. */
#include "sluice.h"

static sluice_u8 out[1024];
static sluice_u32 n;

static void put_n(const void *p, sluice_u32 len) {
	for (sluice_u32 i = 0; i < len && n < sizeof out; i++) out[n++] = ((const sluice_u8 *)p)[i];
}

static void put(const char *s) { put_n(s, sluice_strlen(s)); }

/* member returns the text of a member of the request that holds no escapes. */
static sluice_bytes member(sluice_bytes b, const char *name) {
	sluice_u32 len = sluice_strlen(name);
	for (sluice_u32 i = 0; i + len <= b.n; i++) {
		sluice_u32 k = 0;
		while (k < len && b.at[i + k] == (sluice_u8)name[k]) k++;
		if (k < len) continue;
		sluice_bytes v = {b.at + i + len, 0};
		while (i + len + v.n < b.n && v.at[v.n] != '"') v.n++;
		return v;
	}
	return (sluice_bytes){0, 0};
}

SLUICE_AUTH {
	sluice_bytes in = sluice_input();
	sluice_bytes method = member(in, "\"method\":\""), time = member(in, "\"time\":\""), body = member(in, "\"bodySha256\":\"");
	if (!method.n || !time.n || !body.n) return sluice_fail("the request has no method, time or hash of its body");
	n = 0;
	put_n(time.at, time.n);
	put("\n");
	put_n(method.at, method.n);
	put("\n");
	put_n(body.at, body.n);
	sluice_bytes mac = sluice_sign(1, out, n);
	n = 0;
	put("{\"headers\":{\"X-Timestamp\":\"");
	put_n(time.at, time.n);
	put("\",\"X-Signature\":\"");
	static const char hex[] = "0123456789abcdef";
	for (sluice_u32 i = 0; i < mac.n; i++) {
		put_n(hex + (mac.at[i] >> 4), 1);
		put_n(hex + (mac.at[i] & 15), 1);
	}
	put("\"}}");
	return sluice_output(out, n);
}
