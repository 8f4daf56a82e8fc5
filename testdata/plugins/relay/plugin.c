/* relay is a workflow of tests: it makes the calls that its configuration says. Blocks
 * of lines are made one after the other, the lines of a block at once; the answer is
 * the list of all results. */
#include "sluice.h"

SLUICE_WORKFLOW {
	sluice_bytes script = sluice_config("script");
	if (script.n && script.at[0] == 'f') return sluice_fail("there is no such order");
	if (script.n && script.at[0] == 'l')
		for (volatile int i = 0;; i++) {}
	if (script.n && script.at[0] == 't') return sluice_output("no JSON", 7);
	sluice_u8 *out = sluice_alloc(1 << 20);
	sluice_u32 n = 0, from = 0;
	if (!out) return sluice_fail("no memory");
	out[n++] = '[';
	for (sluice_u32 i = 0; i <= script.n; i++) {
		if (i < script.n && (script.at[i] != '\n' || i + 1 == script.n || script.at[i + 1] != '\n')) continue;
		sluice_bytes results = sluice_call(script.at + from, i - from);
		for (sluice_u32 j = 0; j < results.n && n < (1 << 20) - 2; j++) out[n++] = results.at[j] == '\n' ? ',' : results.at[j];
		if (i < script.n) out[n++] = ',';
		from = i += 2;
	}
	out[n++] = ']';
	return sluice_output(out, n);
}
