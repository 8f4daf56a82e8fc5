/* parrot is a plugin of tests that a hostile author could have written: each of its functions
 * answers what its configuration says. */
#include "sluice.h"

static sluice_u32 digit(sluice_u8 c) { return c <= '9' ? c - '0' : (c | 32u) - 'a' + 10u; }

static sluice_u32 number(sluice_bytes b) {
	sluice_u32 n = 0;
	for (sluice_u32 i = 0; i < b.n; i++) n = n * 10 + digit(b.at[i]);
	return n;
}

/* answer gives "open", then "fill" as often as "times" says, then the setting, then "shut";
 * the setting is hex digits where "hex" is set, and without it what came goes on. */
static int answer(const char *setting) {
	sluice_bytes said = sluice_config(setting), open = sluice_config("open"), fill = sluice_config("fill"), shut = sluice_config("shut");
	sluice_u32 times = number(sluice_config("times")), n = 0;
	if (!said.n) {
		sluice_bytes in = sluice_input();
		return sluice_output(in.at, in.n);
	}
	sluice_u8 *out = sluice_alloc(open.n + fill.n * times + said.n + shut.n);
	if (!out) return sluice_fail("no memory");
	for (sluice_u32 i = 0; i < open.n; i++) out[n++] = open.at[i];
	for (sluice_u32 t = 0; t < times; t++)
		for (sluice_u32 i = 0; i < fill.n; i++) out[n++] = fill.at[i];
	if (sluice_config("hex").n) {
		for (sluice_u32 i = 0; i + 1 < said.n; i += 2) out[n++] = (sluice_u8)(digit(said.at[i]) << 4 | digit(said.at[i + 1]));
	} else {
		for (sluice_u32 i = 0; i < said.n; i++) out[n++] = said.at[i];
	}
	for (sluice_u32 i = 0; i < shut.n; i++) out[n++] = shut.at[i];
	return sluice_output(out, n);
}

__attribute__((export_name("transform_response"))) int transform_response(void) { return answer("response"); }
__attribute__((export_name("transform_error"))) int transform_error(void) { return answer("error"); }
__attribute__((export_name("transform_arguments"))) int transform_arguments(void) { return answer("arguments"); }
__attribute__((export_name("transform_request"))) int transform_request(void) { return answer("request"); }
__attribute__((export_name("run_workflow"))) int run_workflow(void) { return answer("workflow"); }
