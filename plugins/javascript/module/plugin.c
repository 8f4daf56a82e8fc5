// What joins QuickJS to the contract of plugins (docs/plugins/contract.md). Package
// javascript runs load once, when a plugin is built, and keeps the memory that it leaves;
// in a gateway only the functions of the contract are called.
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <stdio.h>
#include "quickjs.h"
#include "sluice.h"

#define EXPORT(name) __attribute__((export_name(name), used))
#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))
WASI("clock_time_get") int wasi_clock_time_get(int id, long long precision, unsigned long long *nanoseconds);
WASI("random_get") int wasi_random_get(void *to, int len);

static JSRuntime *rt;
static JSContext *ctx;
static JSValue answer;  // of the prelude: takes the plugin's function, the input and its kind
static JSValue pending; // of the prelude: makes the calls that wait; false when there are none
static JSValue plugin;  // the default export
static JSValue errors, arguments; // transformError and transformArguments; undefined where they are not
static char *script;
static int script_len;
static char *failure; // why load failed
static int failure_len;

static double host_now(void) {
	unsigned long long ns = 0;
	wasi_clock_time_get(0, 1000, &ns);
	return (double)(ns / 1000);
}

// source returns room for the program, which load reads.
EXPORT("source") void *source(int len) {
	script = malloc((size_t)len + 1);
	script_len = len;
	if (script) script[len] = 0;
	return script;
}

// message is what load failed with: its place << 32 | its length.
EXPORT("message") unsigned long long message(void) { return (unsigned long long)(size_t)failure << 32 | (unsigned)failure_len; }

// copy copies a block of the exchange memory, with a zero behind it, and frees it there.
static char *copy(sluice_u64 at, size_t *len) {
	size_t n = at ? (size_t)sluice_x_length(at) : 0, i = 0;
	char *b = malloc(n + 1);
	if (!b) return NULL;
	for (; i + 8 <= n; i += 8) {
		sluice_u64 v = sluice_x_load_u64(at + i);
		memcpy(b + i, &v, 8);
	}
	for (; i < n; i++) b[i] = (char)sluice_x_load_u8(at + i);
	b[n] = 0;
	if (at) sluice_x_free(at);
	*len = n;
	return b;
}

// read_input copies the input, with a zero behind it.
static char *read_input(size_t *len) {
	size_t n = (size_t)sluice_x_input_length(), i = 0;
	char *b = malloc(n + 1);
	if (!b) return NULL;
	for (; i + 32 <= n; i += 32) { // four words a round: rounds are counted
		sluice_u64 v[4] = {sluice_x_input_load_u64(i), sluice_x_input_load_u64(i + 8), sluice_x_input_load_u64(i + 16), sluice_x_input_load_u64(i + 24)};
		memcpy(b + i, v, 32);
	}
	for (; i < n; i++) b[i] = (char)sluice_x_input_load_u8(i);
	b[n] = 0;
	*len = n;
	return b;
}

static JSValue js_setting(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	size_t n;
	const char *name = JS_ToCStringLen(c, &n, argv[0]);
	if (!name) return JS_EXCEPTION;
	sluice_u64 key = sluice_put(name, n), at = sluice_x_config_get(key);
	JS_FreeCString(c, name);
	sluice_x_free(key);
	if (!at) return JS_UNDEFINED;
	char *b = copy(at, &n);
	if (!b) return JS_ThrowOutOfMemory(c);
	JSValue v = JS_NewStringLen(c, b, n);
	free(b);
	return v;
}

static JSValue js_log(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	int warn = JS_ToBool(c, argv[0]);
	size_t n;
	const char *line = JS_ToCStringLen(c, &n, argv[1]);
	if (!line) return JS_EXCEPTION;
	sluice_u64 at = sluice_put(line, n);
	JS_FreeCString(c, line);
	if (at && warn) sluice_x_log_warn(at);
	else if (at) sluice_x_log_info(at);
	return JS_UNDEFINED;
}

static JSValue js_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	uint64_t bits = 0;
	wasi_random_get(&bits, sizeof bits);
	return JS_NewFloat64(c, (double)(bits >> 11) / 9007199254740992.0);
}

static int digit(char c) { return c >= '0' && c <= '9'; }

// whole returns the length of the number at p that is a whole one, 0 for any other, and
// sets end behind it.
static size_t whole(const char *p, const char *stop, const char **end) {
	const char *q = p + (*p == '-');
	while (q < stop && digit(*q)) q++;
	size_t n = q - p;
	while (q < stop && (digit(*q) || *q == '.' || *q == 'e' || *q == 'E' || *q == '+' || *q == '-')) { q++; n = 0; }
	*end = q;
	return n;
}

// js_mark returns a JSON text in which whole numbers of 16 digits and more are strings that
// begin with a mark; undefined when it has none of them. JavaScript's numbers do not hold
// them.
static JSValue js_mark(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	size_t n, mark_len;
	const char *text = JS_ToCStringLen(c, &n, argv[0]);
	if (!text) return JS_EXCEPTION;
	const char *mark = JS_ToCStringLen(c, &mark_len, argv[1]);
	if (!mark) { JS_FreeCString(c, text); return JS_EXCEPTION; }
	size_t found = 0;
	char *out = NULL, *to = NULL;
	for (int writing = 0; writing < 2; writing++) {
		const char *from = text; // what was not copied yet
		for (const char *p = text, *stop = text + n, *end; p < stop;) {
			if (*p == '"') {
				for (p++; p < stop && *p != '"'; p++) p += *p == '\\';
				p++;
			} else if (*p == '-' || digit(*p)) {
				size_t len = whole(p, stop, &end);
				if (len - (*p == '-') >= 16 && len) {
					found += !writing;
					if (writing) {
						memcpy(to, from, p - from); to += p - from;
						*to++ = '"';
						memcpy(to, mark, mark_len); to += mark_len;
						memcpy(to, p, len); to += len;
						*to++ = '"';
						from = end;
					}
				}
				p = end;
			} else p++;
		}
		if (!found) break;
		if (writing) { memcpy(to, from, text + n - from); to += text + n - from; }
		else if (!(to = out = malloc(n + found * (mark_len + 2)))) break;
	}
	JSValue v = out ? JS_NewStringLen(c, out, to - out) : found ? JS_ThrowOutOfMemory(c) : JS_UNDEFINED;
	free(out);
	JS_FreeCString(c, text);
	JS_FreeCString(c, mark);
	return v;
}

static const char prelude[] = {
#include "prelude.inc"
};

static void keep(const char *text, size_t n) {
	failure = malloc(n + 1);
	if (!failure) return;
	memcpy(failure, text, n);
	failure_len = (int)n;
}

// describe calls f with the message of an error and its stack.
static void describe(JSValue error, void (*f)(const char *message, size_t n, const char *stack, size_t m)) {
	size_t n = 0, m = 0;
	if (JS_IsNull(error)) { // what is thrown when there is no room for an error
		f("out of memory", 13, "", 0);
		return;
	}
	JSValue words = JS_IsError(error) ? JS_GetPropertyStr(ctx, error, "message") : JS_DupValue(ctx, error);
	JSValue stack = JS_IsObject(error) ? JS_GetPropertyStr(ctx, error, "stack") : JS_UNDEFINED;
	const char *w = JS_ToCStringLen(ctx, &n, words), *s = JS_IsString(stack) ? JS_ToCStringLen(ctx, &m, stack) : NULL;
	if (!w) JS_FreeValue(ctx, JS_GetException(ctx)); // its toString failed
	f(w ? w : "out of memory", w ? n : 13, s ? s : "", s ? m : 0);
	if (w) JS_FreeCString(ctx, w);
	if (s) JS_FreeCString(ctx, s);
	JS_FreeValue(ctx, words);
	JS_FreeValue(ctx, stack);
	JS_FreeValue(ctx, error);
}

static void keep_error(const char *w, size_t n, const char *s, size_t m) {
	char *b = malloc(n + m + 2);
	if (!b) return;
	memcpy(b, w, n);
	b[n] = '\n';
	memcpy(b + n + 1, s, m);
	keep(b, n + m + 1);
	free(b);
}

static int refuse(const char *why) {
	keep(why, strlen(why));
	return 1;
}

static int refuse_error(void) {
	describe(JS_GetException(ctx), keep_error);
	return 1;
}

static int drain(void) {
	JSContext *c;
	int ran;
	while ((ran = JS_ExecutePendingJob(rt, &c)) > 0) {}
	return ran;
}

static void define(JSValue object, const char *name, JSCFunction *f, int args) {
	JS_SetPropertyStr(ctx, object, name, JS_NewCFunction(ctx, f, name, args));
}

void __wasm_call_ctors(void);

// has tells which functions the program has beside its default export: 1 transformError,
// 2 transformArguments.
EXPORT("has") int has(void) { return JS_IsFunction(ctx, errors) | JS_IsFunction(ctx, arguments) << 1; }

static void fail_with(const char *w, size_t n, const char *s, size_t m) {
	sluice_u64 at = m ? sluice_put(s, m) : 0;
	if (at) sluice_x_log_warn(at); // where it was thrown
	sluice_x_error_set(sluice_put(w, n));
}

static int failed(JSValue error) {
	describe(error, fail_with);
	return 1;
}

// give makes a value the output: bytes, or a string.
static int give(JSValue v) {
	size_t n = 0;
	sluice_u64 at = 0;
	if (JS_GetTypedArrayType(v) == JS_TYPED_ARRAY_UINT8) {
		uint8_t *b = JS_GetUint8Array(ctx, &n, v);
		if (b && n) at = sluice_put(b, n);
	} else {
		const char *s = JS_ToCStringLen(ctx, &n, v);
		if (!s) return failed(JS_GetException(ctx));
		if (n) at = sluice_put(s, n);
		JS_FreeCString(ctx, s);
	}
	JS_FreeValue(ctx, v);
	if (n && !at) return sluice_fail("there is no room for the answer");
	sluice_x_output_set(at, n);
	return 0;
}

// run calls a function of the program; json tells that its input is JSON whatever the gateway
// says of answers.
static int run(JSValue function, int json) {
	JS_UpdateStackTop(rt);
	size_t n;
	char *in = read_input(&n);
	if (!in) return sluice_fail("there is no memory for the input");
	int text = 0;
	if (!json) {
		size_t len = 0;
		sluice_u64 key = sluice_put("sluice.input_type", 17), at = sluice_x_config_get(key);
		sluice_x_free(key);
		char *name = copy(at, &len);
		if (!name) return sluice_fail("there is no memory for the input");
		json = !len || !strcmp(name, "application/json");
		text = !strncmp(name, "text/", 5);
		free(name);
	}
	JSValue args[3] = {function, json || text ? JS_NewStringLen(ctx, in, n) : JS_NewUint8ArrayCopy(ctx, (uint8_t *)in, n), JS_NewBool(ctx, json)};
	free(in);
	if (JS_IsException(args[1])) return failed(JS_GetException(ctx));
	JSValue promise = JS_Call(ctx, answer, JS_UNDEFINED, 3, (JSValueConst *)args);
	JS_FreeValue(ctx, args[1]);
	for (;;) {
		if (JS_IsException(promise) || drain() < 0) return failed(JS_GetException(ctx));
		JSPromiseStateEnum state = JS_PromiseState(ctx, promise);
		if (state != JS_PROMISE_PENDING) {
			JSValue v = JS_PromiseResult(ctx, promise);
			JS_FreeValue(ctx, promise);
			return state == JS_PROMISE_REJECTED ? failed(v) : give(v);
		}
		JSValue more = JS_Call(ctx, pending, JS_UNDEFINED, 0, NULL);
		if (JS_IsException(more)) return failed(JS_GetException(ctx));
		if (!JS_ToBool(ctx, more)) return sluice_fail("the plugin awaits a promise that nothing settles");
	}
}

EXPORT("transform_response") int transform_response(void) { return run(plugin, 0); }
EXPORT("transform_error") int transform_error(void) { return run(errors, 0); }
EXPORT("transform_arguments") int transform_arguments(void) { return run(arguments, 1); }
EXPORT("transform_request") int transform_request(void) { return run(plugin, 1); }
EXPORT("run_workflow") int run_workflow(void) { return run(plugin, 1); }

#include "system.h"

// From here on is what only some kinds of plugins may import, and what names it. It stands last,
// so that these imports are the last of the module: package javascript leaves out those that a
// kind has not.

// js_call makes calls, one a line, and returns their results, one a line.
static JSValue js_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	size_t n;
	const char *lines = JS_ToCStringLen(c, &n, argv[0]);
	if (!lines) return JS_EXCEPTION;
	sluice_u64 at = sluice_put(lines, n);
	JS_FreeCString(c, lines);
	if (!at) return JS_ThrowRangeError(c, "there is no room for the arguments of the calls");
	char *b = copy(sluice_x_call(at), &n);
	if (!b) return JS_ThrowOutOfMemory(c);
	JSValue v = JS_NewStringLen(c, b, n);
	free(b);
	return v;
}

// put copies a string or the bytes of a typed array to the exchange memory. It returns 0 and
// throws when it cannot, and gives 0 for what is empty.
static int put(JSContext *c, JSValueConst v, sluice_u64 *at) {
	size_t n;
	*at = 0;
	if (JS_GetTypedArrayType(v) == JS_TYPED_ARRAY_UINT8) {
		uint8_t *b = JS_GetUint8Array(c, &n, v);
		if (b && n) *at = sluice_put(b, n);
	} else {
		const char *s = JS_ToCStringLen(c, &n, v);
		if (!s) return 0;
		if (n) *at = sluice_put(s, n);
		JS_FreeCString(c, s);
	}
	if (n && !*at) JS_ThrowRangeError(c, "there is no room for what the gateway gets");
	return !n || *at;
}

static sluice_u64 handle(JSContext *c, JSValueConst v) {
	int64_t h = 0;
	if (JS_ToInt64(c, &h, v) < 0) JS_FreeValue(c, JS_GetException(c)); // no handle: the gateway refuses it
	return (sluice_u64)h;
}

static JSValue js_derive(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	sluice_u64 prefix, message;
	if (!put(c, argv[1], &prefix) || !put(c, argv[2], &message)) return JS_EXCEPTION;
	return JS_NewInt64(c, (int64_t)sluice_x_derive(handle(c, argv[0]), prefix, message));
}

static JSValue js_sign(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	sluice_u64 message;
	size_t n = 0;
	if (!put(c, argv[1], &message)) return JS_EXCEPTION;
	char *b = copy(sluice_x_sign(handle(c, argv[0]), message), &n);
	if (!b || !n) {
		free(b);
		return JS_ThrowRangeError(c, "there is no room for the signature");
	}
	JSValue v = JS_NewUint8ArrayCopy(c, (uint8_t *)b, n);
	free(b);
	return v;
}

static JSValue js_token(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	sluice_u64 name;
	if (!put(c, argv[0], &name)) return JS_EXCEPTION;
	return JS_NewInt64(c, (int64_t)sluice_x_token(name));
}

static JSValue js_fetch_token(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	sluice_u64 name, request;
	if (!put(c, argv[0], &name) || !put(c, argv[1], &request)) return JS_EXCEPTION;
	return JS_NewInt64(c, (int64_t)sluice_x_token_fetch(name, request));
}

// load makes the runtime and runs the program's top level. It returns 0, or 1 with a
// message. text tells that strings which the plugin returns are its answer as they are;
// tools, that it may call tools, keys, that it signs.
static int start(int stack, int text, int tools, int keys) {
	__wasm_call_ctors();
	rt = JS_NewRuntime();
	if (!rt) return refuse("there is no memory for the program");
	JS_SetMaxStackSize(rt, stack);
	ctx = JS_NewContext(rt);
	if (!ctx) return refuse("there is no memory for the program");
	JSValue f = JS_Eval(ctx, prelude, sizeof prelude - 1, "prelude.js", JS_EVAL_TYPE_GLOBAL);
	if (JS_IsException(f)) return refuse_error();
	JSValue host = JS_NewObject(ctx);
	define(host, "setting", js_setting, 1);
	define(host, "log", js_log, 2);
	define(host, "random", js_random, 0);
	define(host, "mark", js_mark, 2);
	define(host, "call", js_call, 1);
	define(host, "derive", js_derive, 3);
	define(host, "sign", js_sign, 2);
	define(host, "token", js_token, 1);
	define(host, "fetchToken", js_fetch_token, 2);
	JS_SetPropertyStr(ctx, host, "text", JS_NewBool(ctx, text));
	JS_SetPropertyStr(ctx, host, "tools", JS_NewBool(ctx, tools));
	JS_SetPropertyStr(ctx, host, "keys", JS_NewBool(ctx, keys));
	JSValue made = JS_Call(ctx, f, JS_UNDEFINED, 1, (JSValueConst *)&host);
	if (JS_IsException(made)) return refuse_error();
	answer = JS_GetPropertyStr(ctx, made, "answer");
	pending = JS_GetPropertyStr(ctx, made, "pending");
	JSValue compiled = JS_Eval(ctx, script, script_len, "plugin.js", JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
	if (JS_IsException(compiled)) return refuse_error();
	JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
	JSValue ran = JS_EvalFunction(ctx, compiled);
	if (JS_IsException(ran) || drain() < 0) return refuse_error();
	if (JS_PromiseState(ctx, ran) == JS_PROMISE_REJECTED) {
		describe(JS_PromiseResult(ctx, ran), keep_error);
		return 1;
	}
	if (JS_PromiseState(ctx, ran) == JS_PROMISE_PENDING) return refuse("its top level awaits what happens in calls only");
	JSValue space = JS_GetModuleNamespace(ctx, module);
	plugin = JS_GetPropertyStr(ctx, space, "default");
	if (!JS_IsFunction(ctx, plugin)) return refuse("it has no function as its default export: export default function (answer, call) { … }");
	errors = JS_GetPropertyStr(ctx, space, "transformError");
	arguments = JS_GetPropertyStr(ctx, space, "transformArguments");
	if (!JS_IsUndefined(errors) && !JS_IsFunction(ctx, errors)) return refuse("what it exports as transformError is not a function");
	if (!JS_IsUndefined(arguments) && !JS_IsFunction(ctx, arguments)) return refuse("what it exports as transformArguments is not a function");
	JS_FreeValue(ctx, space);
	free(script);
	JS_RunGC(rt);
	return 0;
}

EXPORT("load") int load(int stack, int text, int tools, int keys) { return start(stack, text, tools, keys); }
