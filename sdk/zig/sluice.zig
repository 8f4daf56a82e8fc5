//! For plugins of Sluice written in Zig: one file, no package.
//!
//!     const sluice = @import("sluice.zig");
//!
//!     comptime {
//!         sluice.filter(run);
//!     }
//!
//!     fn run(body: []u8) ![]const u8 { … }
//!
//! "sluice plugin build" compiles it. The contract between plugins and gateways is
//! docs/plugins/contract.md.
const std = @import("std");

const x = struct {
    extern "extism:host/env" fn alloc(u64) u64;
    extern "extism:host/env" fn free(u64) void;
    extern "extism:host/env" fn length(u64) u64;
    extern "extism:host/env" fn load_u8(u64) u32;
    extern "extism:host/env" fn load_u64(u64) u64;
    extern "extism:host/env" fn store_u8(u64, u32) void;
    extern "extism:host/env" fn store_u64(u64, u64) void;
    extern "extism:host/env" fn input_length() u64;
    extern "extism:host/env" fn input_load_u8(u64) u32;
    extern "extism:host/env" fn input_load_u64(u64) u64;
    extern "extism:host/env" fn output_set(u64, u64) void;
    extern "extism:host/env" fn error_set(u64) void;
    extern "extism:host/env" fn config_get(u64) u64;
    extern "extism:host/env" fn log_info(u64) void;
    extern "extism:host/env" fn log_warn(u64) void;
    extern "extism:host/user" fn sluice_call(u64) u64;
    extern "extism:host/user" fn sluice_derive(u64, u64, u64) u64;
    extern "extism:host/user" fn sluice_sign(u64, u64) u64;
    extern "extism:host/user" fn sluice_token(u64) u64;
    extern "extism:host/user" fn sluice_token_fetch(u64, u64) u64;
};

var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);

/// What it gives lasts until the call ends.
pub const allocator = arena.allocator();

/// What the function of a plugin does: it gets the input and returns the output. An error
/// makes the call fail with its name, or with what fail was given.
pub const Run = fn (input: []u8) anyerror![]const u8;

/// Exports a filter or projection: a function from the body of an answer to a new one.
pub fn filter(comptime run: Run) void {
    @export(&Entry(run).call, .{ .name = "transform_response" });
}

/// Exports a workflow: a function from the arguments of its tool, a JSON object, to its
/// answer.
pub fn workflow(comptime run: Run) void {
    @export(&Entry(run).call, .{ .name = "run_workflow" });
}

/// Exports an auth plugin: a function from a request to what is set on it.
pub fn auth(comptime run: fn (request: Request) anyerror!Patch) void {
    const wrapped = struct {
        fn call(body: []u8) anyerror![]const u8 {
            const request = std.json.parseFromSliceLeaky(Request, allocator, body, .{ .ignore_unknown_fields = true }) catch return fail("the request cannot be read");
            return (try run(request)).json();
        }
    };
    @export(&Entry(wrapped.call).call, .{ .name = "transform_request" });
}

/// The request that an auth plugin signs, as it is about to be sent.
pub const Request = struct {
    method: []const u8 = "",
    url: []const u8 = "",
    /// Names and values, Host among them.
    headers: []const [2][]const u8 = &.{},
    /// Base64; null when it is longer than 1 MB.
    body: ?[]const u8 = null,
    bodyBytes: u64 = 0,
    /// Lower-case hexadecimal digits.
    bodySha256: []const u8 = "",
    /// RFC 3339, to sign with: a plugin has no clock.
    time: []const u8 = "",
    credentials: []const Credential = &.{},
};

/// A credential of the toolset without its secret. The handle stands for that.
pub const Credential = struct {
    handle: u64,
    /// header, query, cookie, basic, bearer or token.
    type: []const u8 = "",
    /// The security scheme that it fulfils; may be empty.
    scheme: []const u8 = "",
    /// basic: the part that is no secret.
    username: []const u8 = "",
};

pub const Header = struct { name: []const u8, value: []const u8 };

/// A header with an access token: what stands before it ("Bearer "), and its handle.
pub const Token = struct { name: []const u8, prefix: []const u8 = "", handle: u64 };

/// What is set on a request.
pub const Patch = struct {
    headers: []const Header = &.{},
    /// Appended.
    query: []const Header = &.{},
    /// Base64; replaces the body.
    body: ?[]const u8 = null,
    tokens: []const Token = &.{},

    fn json(p: Patch) ![]const u8 {
        var out: []const u8 = "{\"headers\":{";
        for (p.headers, 0..) |h, i| out = try concat(&.{ out, if (i > 0) "," else "", try quote(h.name), ":", try quote(h.value) });
        out = try concat(&.{ out, "}" });
        for (p.query, 0..) |q, i| out = try concat(&.{ out, if (i > 0) "," else ",\"query\":[", "[", try quote(q.name), ",", try quote(q.value), "]" });
        if (p.query.len > 0) out = try concat(&.{ out, "]" });
        for (p.tokens, 0..) |t, i| {
            const handle = try std.fmt.allocPrint(allocator, "{d}", .{t.handle});
            out = try concat(&.{ out, if (i > 0) "," else ",\"tokens\":{", try quote(t.name), ":{\"handle\":", handle, ",\"prefix\":", try quote(t.prefix), "}" });
        }
        if (p.tokens.len > 0) out = try concat(&.{ out, "}" });
        if (p.body) |b| out = try concat(&.{ out, ",\"body\":", try quote(b) });
        return concat(&.{ out, "}" });
    }
};

fn concat(parts: []const []const u8) ![]const u8 {
    return std.mem.concat(allocator, u8, parts);
}

/// A JSON string.
pub fn quote(text: []const u8) ![]const u8 {
    return std.json.Stringify.valueAlloc(allocator, text, .{});
}

/// Lower-case hexadecimal digits, as most APIs want signatures.
pub fn hex(bytes: []const u8) ![]const u8 {
    const digits = "0123456789abcdef";
    const out = try allocator.alloc(u8, 2 * bytes.len);
    for (bytes, 0..) |b, i| {
        out[2 * i] = digits[b >> 4];
        out[2 * i + 1] = digits[b & 15];
    }
    return out;
}

/// Makes a key: the keyed hash of message, with prefix and the key of the handle as its secret.
/// Only the first derivation may have a prefix.
pub fn derive(handle: u64, prefix: []const u8, text: []const u8) !u64 {
    return x.sluice_derive(handle, try put(prefix), try put(text));
}

/// The keyed hash or the signature of a message. The key must have been derived as often as the
/// manifest says.
pub fn sign(handle: u64, text: []const u8) ![]u8 {
    return take(x.sluice_sign(handle, try put(text)));
}

/// The handle of the access token that was fetched under a name; 0: there is none that is good.
pub fn token(name: []const u8) !u64 {
    return x.sluice_token(try put(name));
}

/// Has an access token fetched: {"url":"https://…","headers":{},"body":"…"}.
pub fn fetchToken(name: []const u8, request: []const u8) !u64 {
    return x.sluice_token_fetch(try put(name), try put(request));
}

fn Entry(comptime run: Run) type {
    return struct {
        fn call() callconv(.c) i32 {
            defer _ = arena.reset(.retain_capacity);
            message = null;
            if (answer(run)) return 0 else |e| {
                x.error_set(put(message orelse @errorName(e)) catch 0);
                return 1;
            }
        }
    };
}

fn answer(comptime run: Run) !void {
    const out = try run(try input());
    x.output_set(try put(out), out.len);
}

var message: ?[]const u8 = null;

/// The error of a call that failed with a message of its own: return it.
pub fn fail(text: []const u8) error{Failed} {
    message = text;
    return error.Failed;
}

/// A setting of the plugin, or what the contract names of the call ("sluice.tool",
/// "sluice.arguments"); empty when there is none.
pub fn setting(name: []const u8) ![]u8 {
    const key = try put(name);
    defer x.free(key);
    return take(x.config_get(key));
}

/// Writes a line to the gateway's log.
pub fn log(line: []const u8) void {
    x.log_info(put(line) catch return);
}

/// Writes a line that matters to the gateway's log.
pub fn warn(line: []const u8) void {
    x.log_warn(put(line) catch return);
}

/// A call of a tool. The arguments are a JSON object.
pub const Call = struct { tool: []const u8, arguments: []const u8 };

/// What a call gave: one of value (JSON as it is), text and err is not null.
pub const Result = struct {
    /// HTTP status of the upstream; 0 when there was no answer.
    status: u16 = 0,
    value: ?[]const u8 = null,
    text: ?[]const u8 = null,
    err: ?[]const u8 = null,

    /// The value, or the error of the call as that of the plugin.
    pub fn json(r: Result) ![]const u8 {
        return r.value orelse fail(r.err orelse "the answer is no JSON");
    }

    /// Reads {"status":200,"value":…}, where text or error can be in the place of value.
    fn parse(line: []const u8) !Result {
        const at = "{\"status\":".len;
        const comma = std.mem.indexOfScalarPos(u8, line, at, ',') orelse return error.Result;
        const colon = std.mem.indexOfScalarPos(u8, line, comma, ':') orelse return error.Result;
        var r: Result = .{ .status = try std.fmt.parseInt(u16, line[at..comma], 10) };
        const name = line[comma + 2 .. colon - 1];
        const value = line[colon + 1 .. line.len - 1];
        if (std.mem.eql(u8, name, "value")) {
            r.value = value;
        } else if (std.mem.eql(u8, name, "text")) {
            r.text = try unquote(value);
        } else {
            r.err = try unquote(value);
        }
        return r;
    }
};

/// Makes calls of tools for a workflow, all at once; the results are in their order.
pub fn calls(list: []const Call) ![]Result {
    var lines: []const u8 = "";
    for (list) |c| {
        lines = try std.mem.concat(allocator, u8, &.{ lines, "{\"tool\":\"", c.tool, "\",\"arguments\":", c.arguments, "}\n" });
    }
    const at = try put(lines);
    const answers = try take(x.sluice_call(at));
    x.free(at);
    const results = try allocator.alloc(Result, list.len);
    var each = std.mem.splitScalar(u8, answers, '\n');
    for (results) |*r| r.* = try Result.parse(each.next() orelse return error.Result);
    return results;
}

/// The text of a JSON string.
pub fn unquote(quoted: []const u8) ![]const u8 {
    return std.json.parseFromSliceLeaky([]const u8, allocator, quoted, .{});
}

fn input() ![]u8 {
    const b = try allocator.alloc(u8, @intCast(x.input_length()));
    var i: usize = 0;
    while (i + 8 <= b.len) : (i += 8) std.mem.writeInt(u64, b[i..][0..8], x.input_load_u64(i), .little);
    while (i < b.len) : (i += 1) b[i] = @truncate(x.input_load_u8(i));
    return b;
}

/// Copies bytes to the exchange memory and returns their offset there.
fn put(b: []const u8) !u64 {
    if (b.len == 0) return 0;
    const at = x.alloc(b.len);
    if (at == 0) return error.OutOfMemory;
    var i: usize = 0;
    while (i + 8 <= b.len) : (i += 8) x.store_u64(at + i, std.mem.readInt(u64, b[i..][0..8], .little));
    while (i < b.len) : (i += 1) x.store_u8(at + i, b[i]);
    return at;
}

/// Copies a block of the exchange memory and frees it.
fn take(at: u64) ![]u8 {
    if (at == 0) return &.{};
    defer x.free(at);
    const b = try allocator.alloc(u8, @intCast(x.length(at)));
    var i: usize = 0;
    while (i + 8 <= b.len) : (i += 8) std.mem.writeInt(u64, b[i..][0..8], x.load_u64(at + i), .little);
    while (i < b.len) : (i += 1) b[i] = @truncate(x.load_u8(at + i));
    return b;
}
