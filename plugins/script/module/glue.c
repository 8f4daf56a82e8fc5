// What joins QuickJS to the host: the only way out of a script are the imports of
// "sluice:script" below. A run is: input, then run, which ends with done or fail.
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <stdio.h>
#include "quickjs.h"

extern int exact; // of interpreter.c

#define IMPORT(name) __attribute__((import_module("sluice:script"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name), used))

// MAX_OPEN is how many calls and sleeps may be open at once: maxOpen of host.go.
#define MAX_OPEN 320

// MAX_REASONS is how many of the errors in an AggregateError are told.
#define MAX_REASONS 8

// MAX_CAUSES is how many causes of an error are told, each the cause of the one before.
#define MAX_CAUSES 3

// submit begins a call of a tool and returns the number of its place among those that are
// open, -1 when the script made too many calls.
IMPORT("submit") int host_submit(const char *name, int name_len, const char *args, int args_len);
// sleep begins to wait and returns a number as submit does.
IMPORT("sleep") int host_sleep(double milliseconds);
// wait waits for one that is open to end: its number << 33 | whether it failed << 32 | the
// length of its answer, which take copies.
IMPORT("wait") unsigned long long host_wait(void);
// names returns the length of a JSON list of the names below a path of tools; take copies it.
IMPORT("names") int host_names(const char *path, int len);
IMPORT("take") void host_take(void *to);
// log adds text to a line, or ends the line when level is not negative.
IMPORT("log") void host_log(int level, const char *text, int len);
IMPORT("done") void host_done(const char *json, int len);
// fail ends the run with an error; before is how many lines stand before the script's in
// what the stack names.
IMPORT("fail") void host_fail(const char *message, int message_len, const char *stack, int stack_len, int before);
IMPORT("now") double host_now(void); // microseconds since 1970
IMPORT("stop") int host_stop(void);  // whether the script has to end

static JSRuntime *rt;
static JSContext *ctx;
static JSValue settle_fns[MAX_OPEN][2]; // resolve and reject of what is open
static int open_count;
static uint64_t seed;
static char *script; // with a zero behind it
static int script_len;
static int lines_before;

EXPORT("input") void *input(int len) {
	free(script);
	script = malloc((size_t)len + 1);
	script_len = len;
	if (script) script[len] = 0;
	return script;
}

static int on_interrupt(JSRuntime *r, void *opaque) { return host_stop(); }

static JSValue open_promise(JSContext *c, int n) {
	if (n < 0 || n >= MAX_OPEN) return JS_ThrowRangeError(c, n == -2 ? "too many calls or timers are open at once: await some of them first" : "the script makes too many calls: fetch less, or more in each call");
	JSValue promise = JS_NewPromiseCapability(c, settle_fns[n]);
	if (!JS_IsException(promise)) open_count++;
	return promise;
}

static JSValue js_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	size_t name_len, args_len = 2;
	const char *name = JS_ToCStringLen(c, &name_len, argv[0]);
	if (!name) return JS_EXCEPTION;
	const char *args = "{}";
	JSValue json = JS_UNDEFINED;
	if (argc > 1 && !JS_IsUndefined(argv[1])) {
		json = JS_JSONStringify(c, argv[1], JS_UNDEFINED, JS_UNDEFINED);
		if (JS_IsException(json)) { JS_FreeCString(c, name); return json; }
		args = JS_ToCStringLen(c, &args_len, json);
		if (!args) { JS_FreeCString(c, name); JS_FreeValue(c, json); return JS_EXCEPTION; }
	}
	int n = host_submit(name, name_len, args, args_len);
	JS_FreeCString(c, name);
	if (!JS_IsUndefined(json)) { JS_FreeCString(c, args); JS_FreeValue(c, json); }
	return open_promise(c, n);
}

static JSValue js_sleep(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	double ms = 0;
	if (argc > 0 && JS_ToFloat64(c, &ms, argv[0])) return JS_EXCEPTION;
	return open_promise(c, host_sleep(ms));
}

// parse_taken parses the JSON text that the host holds.
static JSValue parse_taken(JSContext *c, int len) {
	char *text = malloc((size_t)len + 1);
	if (!text) return JS_ThrowOutOfMemory(c);
	host_take(text);
	text[len] = 0;
	exact = 1;
	JSValue v = JS_ParseJSON(c, text, len, "answer");
	exact = 0;
	free(text);
	return v;
}

static JSValue js_names(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	size_t len;
	const char *path = JS_ToCStringLen(c, &len, argv[0]);
	if (!path) return JS_EXCEPTION;
	int n = host_names(path, len);
	JS_FreeCString(c, path);
	return parse_taken(c, n);
}

static JSValue js_log(JSContext *c, JSValueConst self, int argc, JSValueConst *argv, int level) {
	for (int i = 0; i < argc; i++) {
		JSValue json = JS_UNDEFINED;
		if (JS_IsObject(argv[i]) && !JS_IsError(argv[i])) json = JS_JSONStringify(c, argv[i], JS_UNDEFINED, JS_UNDEFINED);
		if (JS_IsException(json)) return json;
		size_t len;
		const char *text = JS_ToCStringLen(c, &len, JS_IsUndefined(json) ? argv[i] : json);
		JS_FreeValue(c, json);
		if (!text) return JS_EXCEPTION;
		if (i) host_log(-1, " ", 1);
		host_log(-1, text, len);
		JS_FreeCString(c, text);
	}
	host_log(level, "", 0);
	return JS_UNDEFINED;
}

// js_random is xorshift64*: what a script draws depends on the seed of its run alone.
static JSValue js_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
	seed ^= seed >> 12; seed ^= seed << 25; seed ^= seed >> 27;
	return JS_NewFloat64(c, (double)((seed * 0x2545F4914F6CDD1DULL) >> 11) / 9007199254740992.0);
}

// The objects of a script: tools, ToolError, sleep and timers. An error of a tool is made
// where the tool is called, so that its stack names that line.
static const char prelude[] =
	"((call,names,sleep)=>{"
	"const{Proxy,Error,Object,TypeError,Map,Set,BigInt}=globalThis,{rawJSON}=JSON;"
	"class ToolError extends Error{get name(){return'ToolError'}}"
	"Object.defineProperty(globalThis,'ToolError',{value:ToolError,writable:true,configurable:true});"
	"const fixed=()=>{throw new TypeError('tools is read-only')};"
	// A tool is made once a run: most scripts call the same few again and again. Those beyond
	// the first are made each time, so that names cost no memory.
	"const made={__proto__:null};let kept=0;"
	"const traps={"
	"get:(t,k)=>typeof k==='symbol'||k==='then'||k==='toJSON'?undefined:below(t.path?t.path+'.'+k:k),"
	"apply:(t,self,args)=>{const e=new ToolError();"
	"return call(t.path,args[0]).catch(x=>{e.message=x.message;e.tool=x.tool;if(x.status)e.status=x.status;throw e})},"
	"has:(t,k)=>names(t.path).includes(k),"
	"ownKeys:t=>names(t.path),"
	"getOwnPropertyDescriptor:(t,k)=>({value:below(t.path?t.path+'.'+String(k):String(k)),enumerable:true,configurable:true}),"
	"set:fixed,deleteProperty:fixed,defineProperty:fixed,setPrototypeOf:fixed,preventExtensions:fixed};"
	"const below=path=>{let p=made[path];if(p)return p;const t=()=>{};t.path=path;p=new Proxy(t,traps);if(kept<256){kept++;made[path]=p}return p};"
	"Object.defineProperty(globalThis,'tools',{value:below(''),enumerable:true});"
	"const timers=new Map();let last=0;"
	"globalThis.sleep=sleep;"
	"globalThis.setTimeout=(f,ms,...args)=>{const id=++last;timers.set(id,f);sleep(ms).then(()=>{if(timers.delete(id))f(...args)});return id};"
	"globalThis.clearTimeout=id=>{timers.delete(id)};"
	"BigInt.prototype.toJSON=function(){return rawJSON(BigInt.prototype.toString.call(this))};"
	// JSON knows neither: a script that returns one means what is in it.
	"const json=(C,f)=>Object.defineProperty(C.prototype,'toJSON',{value:f,writable:true,configurable:true});"
	"json(Set,function(){return[...this]});"
	"json(Map,function(){const l=[...this];return l.every(e=>typeof e[0]!=='object')?Object.fromEntries(l):l});"
	// The engine's own compares code points and takes no options: "b" before "Á", "item 10"
	// before "item 9". This one has the order of a dictionary: letters, then their marks, then
	// small before capital.
	"const order=(a,b)=>a<b?-1:a>b?1:0,nfd=s=>s.normalize('NFD'),bare=s=>s.replace(/\\p{M}/gu,'');"
	"const keys=new Map(),key=s=>{let k=keys.get(s);if(!k){k=nfd(s);k=[k,bare(k).toLowerCase()];if(keys.size<9999)keys.set(s,k)}return k};"
	"const natural=(a,b)=>{const x=a.split(/(\\d+)/),y=b.split(/(\\d+)/),n=x.length<y.length?x.length:y.length;"
	"for(let i=0,c;i<n;i++){if(i%2){const p=x[i].replace(/^0+(?=.)/,''),q=y[i].replace(/^0+(?=.)/,'');c=p.length-q.length||order(p,q)}else c=order(x[i],y[i]);if(c)return c<0?-1:1}"
	"return order(x.length,y.length)};"
	"class Text{localeCompare(that,...r){"
	"if(this==null)throw new TypeError('localeCompare of null or undefined');"
	"const a=`${this}`,b=`${that}`;if(a===b)return 0;"
	"const o=r[1]??{},s=o.sensitivity??'variant',[x,f]=key(a),[y,g]=key(b);"
	"let c=(o.numeric?natural:order)(f,g);if(c||s==='base')return c;"
	"if(s==='case')return order(bare(y),bare(x));"
	"c=order(x.toLowerCase(),y.toLowerCase());return c||s==='accent'?c:order(y,x)}}"
	"Object.defineProperty(String.prototype,'localeCompare',{value:Text.prototype.localeCompare,writable:true,configurable:true});"
	"})";

// What runs the constructors of libc. Where a module calls it itself, the linker does not
// put a function around each export that does.
void __wasm_call_ctors(void);

// init makes the runtime, once: what a run finds is a copy of the memory after it.
EXPORT("init") int init(int memory_limit, int stack) {
	__wasm_call_ctors();
	for (int i = 0; i < MAX_OPEN; i++) settle_fns[i][0] = settle_fns[i][1] = JS_UNDEFINED;
	rt = JS_NewRuntime();
	if (!rt) return 1;
	JS_SetMemoryLimit(rt, memory_limit);
	JS_SetMaxStackSize(rt, stack);
	JS_SetInterruptHandler(rt, on_interrupt, NULL);
	ctx = JS_NewContext(rt);
	if (!ctx) return 2;
	JSValue f = JS_Eval(ctx, prelude, sizeof prelude - 1, "prelude.js", JS_EVAL_TYPE_GLOBAL);
	if (JS_IsException(f)) return 3;
	JSValue args[3] = {JS_NewCFunction(ctx, js_call, "call", 2), JS_NewCFunction(ctx, js_names, "names", 1), JS_NewCFunction(ctx, js_sleep, "sleep", 1)};
	JSValue r = JS_Call(ctx, f, JS_UNDEFINED, 3, (JSValueConst *)args);
	if (JS_IsException(r)) return 4;
	JS_FreeValue(ctx, r);
	JS_FreeValue(ctx, f);
	for (int i = 0; i < 3; i++) JS_FreeValue(ctx, args[i]);
	JSValue global = JS_GetGlobalObject(ctx);
	JSValue console = JS_NewObject(ctx);
	static const char *const levels[] = {"debug", "log", "info", "warn", "error"};
	for (int i = 0; i < 5; i++)
		JS_SetPropertyStr(ctx, console, levels[i], JS_NewCFunctionMagic(ctx, (JSCFunctionMagic *)js_log, levels[i], 1, JS_CFUNC_generic_magic, i));
	JS_SetPropertyStr(ctx, global, "console", console);
	JSValue math = JS_GetPropertyStr(ctx, global, "Math");
	JS_SetPropertyStr(ctx, math, "random", JS_NewCFunction(ctx, js_random, "random", 0));
	JS_FreeValue(ctx, math);
	JS_FreeValue(ctx, global);
	JS_RunGC(rt);
	return 0;
}

static const char aggregate[] = "AggregateError";
static const char no_memory[] = "InternalError: out of memory";

// unreadable says why what was thrown has no text: there is no memory for one, or it is a
// symbol, or its toString failed.
static const char *unreadable(void) {
	JSValue why = JS_GetException(ctx);
	if (JS_IsNull(why)) return no_memory;
	const char *text = JS_IsError(why) ? JS_ToCString(ctx, why) : "";
	if (!text) JS_FreeValue(ctx, JS_GetException(ctx));
	return text && !strcmp(text, no_memory) ? no_memory : "Error: the script threw a value that cannot be written as text: throw an Error";
}

// add_reasons puts behind the message of an AggregateError what each of its promises was
// rejected with, which its own text does not say: the length of both in to, 0 when it has none.
static size_t add_reasons(char *to, size_t room, const char *message, size_t message_len, JSValue error) {
	JSValue list = JS_GetPropertyStr(ctx, error, "errors");
	int64_t count = 0;
	if (JS_IsException(list) || !JS_IsArray(list) || JS_GetLength(ctx, list, &count)) {
		JS_FreeValue(ctx, JS_GetException(ctx));
		return 0;
	}
	size_t at = message_len < room / 4 ? message_len : room / 4;
	memcpy(to, message, at);
	for (int64_t i = 0; i < count; i++) {
		char more[32];
		JSValue one = i < MAX_REASONS ? JS_GetPropertyUint32(ctx, list, (uint32_t)i) : JS_UNDEFINED;
		size_t len;
		const char *text = i < MAX_REASONS ? JS_ToCStringLen(ctx, &len, one) : more;
		if (i == MAX_REASONS) len = snprintf(more, sizeof more, "%lld more", (long long)(count - i));
		else if (!text) {
			JS_FreeValue(ctx, JS_GetException(ctx));
			text = "?";
			len = 1;
		}
		if (len > room - at - 2) len = room - at - 2;
		memcpy(to + at, i ? "; " : ": ", 2);
		memcpy(to + at + 2, text, len);
		at += 2 + len;
		if (i == MAX_REASONS || at + 2 >= room) break;
	}
	return count ? at : 0;
}

// add_causes puts behind a message what its error was thrown because of: a script that wraps
// the error of a tool means that to be read. It returns the length of all in to, 0 when there
// is no cause.
static size_t add_causes(char *to, size_t room, const char *message, size_t message_len, JSValue error) {
	static const char because[] = "; cause: ";
	size_t at = 0;
	for (int i = 0; i < MAX_CAUSES && JS_IsError(error); i++) {
		JSValue cause = JS_GetPropertyStr(ctx, error, "cause");
		size_t len;
		const char *text = JS_IsException(cause) || JS_IsUndefined(cause) ? NULL : JS_ToCStringLen(ctx, &len, cause);
		if (!text) {
			JS_FreeValue(ctx, JS_GetException(ctx));
			break;
		}
		if (!at) memmove(to, message, at = message_len < room / 2 ? message_len : room / 2);
		if (at + sizeof because >= room) break;
		memcpy(to + at, because, sizeof because - 1);
		at += sizeof because - 1;
		if (len > room - at) len = room - at;
		memcpy(to + at, text, len);
		at += len;
		error = cause;
	}
	return at;
}

static void fail_with(JSValue error) {
	// QuickJS throws null where there is no memory for an error.
	if (JS_IsNull(error)) {
		static const char null[] = "InternalError: out of memory, or the script threw null";
		host_fail(null, sizeof null - 1, "", 0, 0);
		return;
	}
	size_t message_len = 0, stack_len = 0;
	const char *message = JS_ToCStringLen(ctx, &message_len, error);
	const char *none = message ? "" : unreadable();
	if (message && !strcmp(message, "[object Object]") && !JS_IsError(error)) {
		JSValue json = JS_JSONStringify(ctx, error, JS_UNDEFINED, JS_UNDEFINED);
		const char *members = JS_IsString(json) ? JS_ToCStringLen(ctx, &message_len, json) : NULL;
		if (members) message = members;
		else JS_FreeValue(ctx, JS_GetException(ctx));
	}
	static char whole[4096]; // maxMessage of limits.go
	if (message && !strncmp(message, aggregate, sizeof aggregate - 1)) {
		size_t len = add_reasons(whole, sizeof whole, message, message_len, error);
		if (len) {
			message = whole;
			message_len = len;
		}
	}
	if (message) {
		size_t len = add_causes(whole, sizeof whole, message, message_len, error);
		if (len) {
			message = whole;
			message_len = len;
		}
	}
	JSValue stack = JS_IsObject(error) ? JS_GetPropertyStr(ctx, error, "stack") : JS_UNDEFINED;
	const char *text = JS_IsString(stack) ? JS_ToCStringLen(ctx, &stack_len, stack) : NULL;
	if (message) host_fail(message, message_len, text ? text : "", stack_len, lines_before);
	else host_fail(none, strlen(none), "", 0, 0);
}

static void finish(JSValue value) {
	JSValue json = JS_JSONStringify(ctx, value, JS_UNDEFINED, JS_UNDEFINED);
	if (JS_IsException(json)) { fail_with(JS_GetException(ctx)); return; }
	if (!JS_IsString(json)) { host_done("", 0); return; } // undefined, a function
	size_t len;
	const char *text = JS_ToCStringLen(ctx, &len, json);
	if (!text) { host_fail(no_memory, sizeof no_memory - 1, "", 0, 0); return; }
	host_done(text, len);
}

// compile compiles the script between two texts; before ends with a line break, or is empty.
static JSValue compile(const char *before, const char *after, int flags) {
	size_t a = strlen(before), b = strlen(after), n = a + (size_t)script_len + b;
	char *text = malloc(n + 1);
	if (!text) return JS_ThrowOutOfMemory(ctx);
	memcpy(text, before, a);
	memcpy(text + a, script, script_len);
	memcpy(text + a + script_len, after, b + 1);
	lines_before = a > 0;
	exact = 1;
	JSValue f = JS_Eval(ctx, text, n, "script.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY | flags);
	exact = 0;
	free(text);
	return f;
}

// settle runs the script until its promise is settled; 0 when it is.
static int settle(JSValue promise) {
	for (;;) {
		JSContext *c;
		int ran;
		while ((ran = JS_ExecutePendingJob(rt, &c)) > 0) {}
		if (ran < 0) { fail_with(JS_GetException(ctx)); return 1; }
		if (JS_PromiseState(ctx, promise) != JS_PROMISE_PENDING) return 0;
		if (open_count == 0) {
			static const char stuck[] = "Error: the script awaits a promise that nothing settles";
			host_fail(stuck, sizeof stuck - 1, "", 0, 0);
			return 1;
		}
		unsigned long long ended = host_wait();
		int n = (int)(ended >> 33), failed = (ended >> 32) & 1;
		open_count--;
		JSValue v = parse_taken(ctx, (int)(uint32_t)ended);
		if (JS_IsException(v)) { v = JS_GetException(ctx); failed = 1; }
		JSValue r = JS_Call(ctx, settle_fns[n][failed], JS_UNDEFINED, 1, (JSValueConst *)&v);
		JS_FreeValue(ctx, v);
		JS_FreeValue(ctx, r);
		for (int i = 0; i < 2; i++) { JS_FreeValue(ctx, settle_fns[n][i]); settle_fns[n][i] = JS_UNDEFINED; }
	}
}

// run runs the script: an expression, else statements whose last value counts, else the
// body of a function. A promise as the value is awaited, and a function called with args.
EXPORT("run") void run(unsigned long long s) {
	seed = s | 1;
	JS_UpdateStackTop(rt);
	int wrapped = 0; // the value is in an object
	JSValue f = compile("(async()=>(\n", "\n))()", 0);
	if (JS_IsException(f)) {
		JS_FreeValue(ctx, JS_GetException(ctx));
		f = compile("", "", JS_EVAL_FLAG_ASYNC);
		wrapped = 1;
		if (JS_IsException(f)) {
			JS_FreeValue(ctx, JS_GetException(ctx));
			f = compile("(async()=>{\n", "\n})()", 0);
			wrapped = 0;
			if (JS_IsException(f)) { fail_with(JS_GetException(ctx)); return; }
		}
	}
	JSValue p = JS_EvalFunction(ctx, f);
	for (int called = 0;;) {
		if (JS_IsException(p)) { fail_with(JS_GetException(ctx)); return; }
		JSValue v = p;
		if (JS_PromiseState(ctx, p) != JS_PROMISE_NOT_A_PROMISE) {
			if (settle(p)) return;
			v = JS_PromiseResult(ctx, p);
			if (JS_PromiseState(ctx, p) == JS_PROMISE_REJECTED) { fail_with(v); return; }
		}
		if (wrapped) {
			v = JS_GetPropertyStr(ctx, v, "value");
			wrapped = 0;
			if (JS_PromiseState(ctx, v) != JS_PROMISE_NOT_A_PROMISE) { p = v; continue; } // "main();" at the end
		}
		if (called || !JS_IsFunction(ctx, v)) { finish(v); return; }
		static const char arguments[] = "typeof args=='undefined'?undefined:args"; // of a script that is a tool
		JSValue args = JS_Eval(ctx, arguments, sizeof arguments - 1, "prelude.js", JS_EVAL_TYPE_GLOBAL);
		if (JS_IsException(args)) { fail_with(JS_GetException(ctx)); return; }
		p = JS_Call(ctx, v, JS_UNDEFINED, 1, (JSValueConst *)&args);
		JS_FreeValue(ctx, args);
		called = 1;
	}
}

#include "system.h"
