/* reach is a plugin of tests that uses what its binding grants. Its configuration says
 * what it does: "url" is requested, "clock" and "random" are read. It transforms errors
 * and arguments too. */
#include "sluice.h"

SLUICE_ENV(http_request) sluice_u64 http_request(sluice_u64 request, sluice_u64 body);
SLUICE_ENV(http_status_code) sluice_u32 http_status_code(void);

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
WASI(clock_time_get) int clock_time_get(int id, sluice_u64 precision, sluice_u64 *out);
WASI(random_get) int random_get(void *at, sluice_u32 n);

static sluice_u8 out[1 << 18];
static sluice_u32 n;

static void put(const char *s) {
	for (; *s; s++) out[n++] = (sluice_u8)*s;
}

static void put_bytes(sluice_bytes b) {
	for (sluice_u32 i = 0; i < b.n && n < sizeof out - 64; i++) out[n++] = b.at[i];
}

static void put_number(sluice_u64 v) {
	sluice_u8 digits[20];
	int k = 0;
	do digits[k++] = (sluice_u8)('0' + v % 10); while (v /= 10);
	while (k) out[n++] = digits[--k];
}

SLUICE_TRANSFORM {
	sluice_bytes url = sluice_config("url");
	n = 0;
	put("{\"answer\":");
	put_bytes(sluice_input());
	if (url.n) {
		sluice_u32 from = n;
		put("{\"url\":\"");
		put_bytes(url);
		put("\"}");
		sluice_u64 at = sluice_put(out + from, n - from);
		n = from;
		sluice_bytes body = sluice_take(http_request(at, 0));
		put(",\"status\":");
		put_number(http_status_code());
		put(",\"body\":");
		put_bytes(body);
	}
	if (sluice_config("clock").n) {
		sluice_u64 t = 0;
		clock_time_get(0, 1, &t);
		put(",\"seconds\":");
		put_number(t / 1000000000);
	}
	if (sluice_config("random").n) {
		sluice_u64 r = 0;
		random_get(&r, sizeof r);
		put(",\"random\":\"");
		put_number(r);
		put("\"");
	}
	put("}");
	return sluice_output(out, n);
}

/* What an agent reads of an error. */
__attribute__((export_name("transform_error"))) int transform_error(void) {
	n = 0;
	put("reach says: ");
	put_bytes(sluice_input());
	return sluice_output(out, n);
}

/* The arguments, and what "add" says: {"a":1} and "b":2 make {"a":1,"b":2}. */
__attribute__((export_name("transform_arguments"))) int transform_arguments(void) {
	sluice_bytes in = sluice_input(), add = sluice_config("add");
	n = 0;
	if (!add.n) return sluice_output(in.at, in.n);
	in.n--;
	put_bytes(in);
	if (in.n > 1) put(",");
	put_bytes(add);
	put("}");
	return sluice_output(out, n);
}
