/* The plugin of the conformance cases in C. */
#include "sluice.h"

static sluice_u8 *out;
static sluice_u32 n;

static void put(sluice_bytes b) {
	__builtin_memcpy(out + n, b.at, b.n);
	n += b.n;
}

static void line(const char *name) {
	put(sluice_config(name));
	out[n++] = '\n';
}

static sluice_bytes text(const char *s) { return (sluice_bytes){(sluice_u8 *)s, sluice_strlen(s)}; }

static void result(sluice_result r) {
	sluice_u8 digits[4];
	sluice_u32 d = 0;
	do digits[d++] = (sluice_u8)('0' + r.status % 10);
	while ((r.status /= 10));
	while (d) out[n++] = digits[--d];
	out[n++] = ' ';
	put(r.value.at ? r.value : r.text.at ? r.text : r.error);
	out[n++] = '\n';
}

static int run(void) {
	sluice_bytes what = sluice_config("do"), in = sluice_input();
	out = sluice_alloc(in.n + (1 << 16));
	n = 0;
	if (!what.n || !out) return sluice_fail("nothing to do");
	switch (what.at[0]) {
	case 'e':
		return sluice_output(in.at, in.n);
	case 'u':
		for (sluice_u32 i = 0; i < in.n; i++)
			if (in.at[i] >= 'a' && in.at[i] <= 'z') in.at[i] -= 32;
		return sluice_output(in.at, in.n);
	case 'f':
		return sluice_fail_bytes(sluice_config("message"));
	case 'n':
		return 0;
	case 'l':
		sluice_log("first");
		sluice_warn("second");
		return 0;
	case 's': {
		sluice_bytes name = sluice_config("name");
		char key[64] = {0};
		for (sluice_u32 i = 0; i < name.n && i < 63; i++) key[i] = (char)name.at[i];
		put(sluice_config(key));
		return sluice_output(out, n);
	}
	}
	if (what.at[1] == 'o') { /* context */
		line("sluice.tool");
		line("sluice.operation");
		line("sluice.status");
		line("sluice.content_type");
		line("sluice.arguments");
		line("sluice.config");
		return sluice_output(out, n);
	}
	put(text("{\"tool\":\"first\",\"arguments\":"));
	put(in);
	put(text("}"));
	sluice_bytes first = sluice_call(out, n);
	static const char two[] = "{\"tool\":\"second\",\"arguments\":{}}\n{\"tool\":\"third\",\"arguments\":{}}";
	sluice_bytes both = sluice_call(two, sizeof two - 1);
	n = 0;
	result(sluice_next(&first));
	result(sluice_next(&both));
	result(sluice_next(&both));
	return sluice_output(out, n);
}

SLUICE_ENTRY("transform_response") { return run(); }

__attribute__((export_name("run_workflow"))) int workflow(void) {
	sluice_heap = 0;
	return run();
}
