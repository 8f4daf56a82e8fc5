/* thread is a plugin of Sluice: a workflow that reads an issue and its comments at
 * once. */
#include "sluice.h"

static sluice_u32 put(sluice_u8 *to, const void *from, sluice_u32 n) {
	for (sluice_u32 i = 0; i < n; i++) to[i] = ((const sluice_u8 *)from)[i];
	return n;
}

static sluice_u32 text(sluice_u8 *to, const char *s) { return put(to, s, sluice_strlen(s)); }

SLUICE_WORKFLOW {
	sluice_bytes args = sluice_input(); /* both tools take the arguments of this one */
	sluice_u8 *out = sluice_alloc(2 * args.n + 128);
	sluice_u32 n = 0;
	if (!args.at || !out) return sluice_fail("no memory for the arguments");
	n += text(out + n, "{\"tool\":\"get_issue\",\"arguments\":");
	n += put(out + n, args.at, args.n);
	n += text(out + n, "}\n{\"tool\":\"list_comments\",\"arguments\":");
	n += put(out + n, args.at, args.n);
	n += text(out + n, "}");
	sluice_bytes results = sluice_call(out, n);
	sluice_result issue = sluice_next(&results), comments = sluice_next(&results);
	if (issue.error.at) return sluice_fail_json(issue.error);
	if (comments.error.at) return sluice_fail_json(comments.error);
	out = sluice_alloc(issue.value.n + comments.value.n + 64);
	if (!out || !issue.value.at || !comments.value.at) return sluice_fail("the issue or its comments are not JSON");
	n = text(out, "{\"issue\":");
	n += put(out + n, issue.value.at, issue.value.n);
	n += text(out + n, ",\"comments\":");
	n += put(out + n, comments.value.at, comments.value.n);
	n += text(out + n, "}");
	return sluice_output(out, n);
}
