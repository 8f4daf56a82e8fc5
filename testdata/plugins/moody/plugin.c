/* moody is a plugin of tests: it behaves as its configuration says. */
#include "sluice.h"

static int deeper(volatile int n) { return n + deeper(n + 1) * n; }

SLUICE_TRANSFORM {
	sluice_bytes in = sluice_input(), mood = sluice_config("mood");
	switch (mood.n ? mood.at[0] : 0) {
	case 'f':
		return sluice_fail("in a bad mood");
	case 't':
		if (mood.n == 4 && mood.at[1] == 'r') __builtin_trap();
		return sluice_output("no JSON", 7);
	case 'l':
		for (volatile int i = 0;; i++) {}
	case 'r':
		deeper(1);
		break;
	case 'g': /* grow */
		for (;;) __builtin_wasm_memory_grow(0, 1);
	}
	return sluice_output(in.at, in.n);
}
