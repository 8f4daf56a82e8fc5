// QuickJS, whose interpreter loop is exported so that the host finds it: it looks at the
// interrupt handler itself, and is left out of metering. build.sh takes "static" away from
// it, because a function of one file cannot be exported.
#include "quickjs.h"

JSValue JS_CallInternal(JSContext *caller_ctx, JSValueConst func_obj, JSValueConst this_obj, JSValueConst new_target,
	int argc, JSValueConst *argv, int flags) __attribute__((export_name("interpreter"), used));

#include "quickjs.c"
