/* The auth plugin of the conformance cases in C: it does what the setting "do" says. */
#include "../../c/sluice.h"

static sluice_u8 out[1 << 16];
static sluice_u32 n;

static void put_n(const void *p, sluice_u32 len) {
	for (sluice_u32 i = 0; i < len && n < sizeof out; i++) out[n++] = ((const sluice_u8 *)p)[i];
}

static void put(const char *s) { put_n(s, sluice_strlen(s)); }

static int is(sluice_bytes b, const char *s) {
	if (b.n != sluice_strlen(s)) return 0;
	for (sluice_u32 i = 0; i < b.n; i++)
		if (b.at[i] != (sluice_u8)s[i]) return 0;
	return 1;
}

/* signature answers the signature of a message with a key, in hexadecimal digits. */
static int signature(sluice_u64 key, const void *message, sluice_u32 len) {
	sluice_bytes s = sluice_sign(key, message, len);
	n = 0;
	put("{\"headers\":{\"X-Signature\":\"");
	for (sluice_u32 i = 0; i < s.n; i++) {
		static const char hex[] = "0123456789abcdef";
		put_n(hex + (s.at[i] >> 4), 1);
		put_n(hex + (s.at[i] & 15), 1);
	}
	put("\"}}");
	return sluice_output(out, n);
}

/* time returns the member of that name of the request. */
static sluice_bytes time(sluice_bytes in) {
	static const char name[] = "\"time\":\"";
	for (sluice_u32 i = 0; i + sizeof name - 1 <= in.n; i++) {
		sluice_u32 k = 0;
		while (k < sizeof name - 1 && in.at[i + k] == (sluice_u8)name[k]) k++;
		if (k < sizeof name - 1) continue;
		sluice_bytes v = {in.at + i + k, 0};
		while (i + k + v.n < in.n && v.at[v.n] != '"') v.n++;
		return v;
	}
	return (sluice_bytes){0, 0};
}

SLUICE_AUTH {
	sluice_bytes what = sluice_config("do"), in = sluice_input();
	if (is(what, "sign")) return signature(1, "a message", 9);
	if (is(what, "second")) return signature(2, "a message", 9);
	if (is(what, "time")) {
		sluice_bytes t = time(in);
		return signature(1, t.at, t.n);
	}
	if (is(what, "derive")) return signature(sluice_derive(sluice_derive(1, "P", 1, "one", 3), 0, 0, "two", 3), "a message", 9);
	if (is(what, "again")) {
		sluice_u64 k = sluice_derive(sluice_derive(1, 0, 0, "one", 3), 0, 0, "two", 3);
		sluice_sign(k, "x", 1);
		sluice_derive(1, 0, 0, "one", 3);
	}
	if (is(what, "steal")) return signature(99, "x", 1);
	if (is(what, "see")) { /* all that it can read */
		n = 0;
		put_n(in.at, in.n);
		static const char *const names[] = {"do", "sluice.arguments", "sluice.config", "sluice.tool", "sluice.operation", "sluice.part", "password", "credential", "secret", "1"};
		for (sluice_u32 i = 0; i < sizeof names / sizeof *names; i++) {
			sluice_bytes v = sluice_config(names[i]);
			put_n(v.at, v.n);
			put("\n");
		}
		return sluice_fail_bytes((sluice_bytes){out, n});
	}
	sluice_u64 k = sluice_token("scope", 5);
	if (!k || is(what, "fresh")) {
		sluice_bytes request = sluice_config("request");
		k = sluice_token_fetch("scope", 5, request.at, request.n);
	}
	if (is(what, "token key")) return signature(k, "x", 1);
	n = 0;
	put("{\"tokens\":{\"Authorization\":{\"handle\":");
	char digit = (char)('0' + k % 10);
	put_n(&digit, 1);
	put(",\"prefix\":\"Bearer \"}}}");
	return sluice_output(out, n);
}
