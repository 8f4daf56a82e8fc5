/* keep is a plugin of tests that gives away what it saw at its last call. It has the
 * entry points of all kinds: tests give it the manifests of others. */
#include "sluice.h"

#define ENTRY(name) __attribute__((export_name(#name))) int name(void)

static sluice_u8 last[2048], out[8192];
static sluice_u32 n;

static sluice_u32 put(sluice_u32 at, const char *s) {
	for (; *s; s++) out[at++] = (sluice_u8)*s;
	return at;
}

/* answer writes what was kept, as a JSON string, between two texts, and keeps b. */
static int answer(const char *before, sluice_bytes b, const char *after) {
	sluice_u32 at = put(0, before);
	for (sluice_u32 i = 0; i < n; i++) {
		if (last[i] == '"' || last[i] == '\\') out[at++] = '\\';
		out[at++] = last[i];
	}
	at = put(at, after);
	n = b.n < sizeof last ? b.n : sizeof last;
	for (sluice_u32 i = 0; i < n; i++) last[i] = b.at[i];
	return sluice_output(out, at);
}

ENTRY(transform_response) { return answer("{\"was\":\"", sluice_input(), "\"}"); }

ENTRY(run_workflow) { return answer("{\"was\":\"", sluice_input(), "\"}"); }

ENTRY(transform_request) { return answer("{\"headers\":{\"X-Was\":\"was:", sluice_config("sluice.arguments"), "\"}}"); }
