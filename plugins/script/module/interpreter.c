// QuickJS, whose interpreter loop is exported so that the host finds it: it looks at the
// interrupt handler itself, and is left out of metering. build.sh takes "static" away from
// it, because a function of one file cannot be exported.
#include "quickjs.h"

JSValue JS_CallInternal(JSContext *caller_ctx, JSValueConst func_obj, JSValueConst this_obj, JSValueConst new_target,
	int argc, JSValueConst *argv, int flags) __attribute__((export_name("interpreter"), used));

#ifdef EXACT
// While exact is set, whole numbers of JSON texts and of scripts that a number does not hold
// are BigInts. compile.sh has the parsers call these.
int exact;
static JSValue exact_number(JSContext *c, const uint8_t *from, const uint8_t *to);
static JSValue exact_literal(JSContext *c, JSValue v, const uint8_t *from, const uint8_t *to);
#endif

#include "quickjs.c"

#ifdef EXACT
// Digits beyond MAX_DIGITS are no identifier of anybody: 2^256 has 78.
#define MAX_DIGITS 100

static bool all_digits(const uint8_t *p, const uint8_t *to) {
	while (p < to && is_digit(*p)) p++;
	return p == to;
}

static JSValue exact_number(JSContext *c, const uint8_t *from, const uint8_t *to) {
	double d = strtod((const char *)from, NULL);
	if (!exact || fabs(d) <= MAX_SAFE_INTEGER || to - from > MAX_DIGITS || !all_digits(from + (*from == '-'), to)) return js_float64(d);
	return JS_StringToBigInt(c, JS_NewStringLen(c, (const char *)from, to - from));
}

static JSValue exact_literal(JSContext *c, JSValue v, const uint8_t *from, const uint8_t *to) {
	if (!JS_IsNumber(v) || to - from < 16 || *from == '0' || !all_digits(from, to)) return v;
	return exact_number(c, from, to);
}
#endif
