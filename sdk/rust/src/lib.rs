//! For plugins of Sluice written in Rust. It needs no other crate.
//!
//! A filter is one function:
//!
//! ```ignore
//! fn transform(call: &sluice::Call, body: Vec<u8>) -> Result<Vec<u8>, String> {
//!     Ok(body)
//! }
//! sluice::filter!(transform);
//! ```
//!
//! Build it with `sluice plugin build`, which runs cargo for the target
//! `wasm32-unknown-unknown`. The contract between plugins and gateways is
//! docs/plugins/contract.md. On other targets the host's side is in [`fake`], for tests.
//!
//! A plugin handles one call at a time. What it keeps in statics may be gone at the
//! next call.

pub mod auth;

/// What a plugin may ask about the call that it serves.
pub struct Call(());

/// Level of a log line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Call {
    /// The name of the tool that was called.
    pub fn tool(&self) -> String {
        self.setting("sluice.tool")
    }

    /// The upstream operation, such as "GET /pets/{id}".
    pub fn operation(&self) -> String {
        self.setting("sluice.operation")
    }

    /// The HTTP status of the upstream's answer; 0 when there is none.
    pub fn status(&self) -> u16 {
        self.setting("sluice.status").parse().unwrap_or(0)
    }

    /// The content type of the upstream's answer.
    pub fn content_type(&self) -> String {
        self.setting("sluice.content_type")
    }

    /// The caller's arguments, a JSON object.
    pub fn arguments(&self) -> String {
        self.setting("sluice.arguments")
    }

    /// The plugin's configuration, a JSON object.
    pub fn config(&self) -> String {
        self.setting("sluice.config")
    }

    /// A member of the configuration: a string as it is, another value as JSON; ""
    /// when there is none.
    pub fn setting(&self, name: &str) -> String {
        String::from_utf8(abi::config(name)).unwrap_or_default()
    }

    /// Writes a line to the gateway's log. A call may write 100.
    pub fn log(&self, level: Level, line: &str) {
        if !line.is_empty() {
            abi::log(level, line);
        }
    }
}

/// What became of a call that a workflow made. One of `value`, `text` and `error` is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The HTTP status of the upstream; 0 when there was no answer.
    pub status: u16,
    /// A JSON answer.
    pub value: Option<String>,
    /// Any other answer.
    pub text: Option<String>,
    /// What an agent would read of the failure.
    pub error: Option<String>,
}

impl Answer {
    /// The JSON answer, or why there is none.
    pub fn json(self) -> Result<String, String> {
        match (self.value, self.error) {
            (Some(value), _) => Ok(value),
            (None, Some(error)) => Err(error),
            (None, None) => Err("the answer is no JSON".into()),
        }
    }

    /// Reads {"status":200,"value":…}, where text or error can be in the place of value.
    fn parse(line: &str) -> Answer {
        let rest = line.strip_prefix("{\"status\":").unwrap_or_default();
        let (status, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let mut answer = Answer { status: status.parse().unwrap_or(0), ..Default::default() };
        let rest = rest.strip_suffix('}').unwrap_or_default();
        if let Some(value) = rest.strip_prefix(",\"value\":") {
            answer.value = Some(value.into());
        } else if let Some(text) = rest.strip_prefix(",\"text\":") {
            answer.text = Some(unquote(text));
        } else {
            answer.error = Some(unquote(rest.strip_prefix(",\"error\":").unwrap_or_default()));
        }
        answer
    }
}

/// The text of a JSON string.
fn unquote(quoted: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let inside = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).unwrap_or(quoted);
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match rest.next() {
            Some('u') => u16::from_str_radix(&rest.by_ref().take(4).collect::<String>(), 16).unwrap_or(0xFFFD),
            Some('n') => 10,
            Some('t') => 9,
            Some('r') => 13,
            Some('b') => 8,
            Some('f') => 12,
            Some(c) => c as u16,
            None => 0xFFFD,
        });
    }
    String::from_utf16_lossy(&units)
}

impl Call {
    /// Calls a tool: a name of the manifest's capabilities.tools, and its arguments, a
    /// JSON object. A call that fails is an [`Answer`] with an error; what breaks a rule
    /// of the contract ends the plugin's call.
    pub fn call(&self, tool: &str, arguments: &str) -> Answer {
        self.call_all(&[(tool, arguments)]).remove(0)
    }

    /// Makes several calls at once and returns their answers in their order.
    pub fn call_all<T: AsRef<str>, A: AsRef<str>>(&self, calls: &[(T, A)]) -> Vec<Answer> {
        if calls.is_empty() {
            return Vec::new();
        }
        let mut lines = String::new();
        for (tool, arguments) in calls {
            // A line break can only be white space in JSON.
            let arguments = arguments.as_ref().replace(['\n', '\r'], " ");
            lines += &["{\"tool\":\"", tool.as_ref(), "\",\"arguments\":", &arguments, "}\n"].concat();
        }
        let results = String::from_utf8(abi::call_tools(lines.as_bytes())).unwrap_or_default();
        results.split('\n').map(Answer::parse).collect()
    }
}

/// Answers one call; what [`filter!`] and [`workflow!`] export calls it.
pub fn run(transform: fn(&Call, Vec<u8>) -> Result<Vec<u8>, String>) -> i32 {
    match transform(&Call(()), abi::input()) {
        Ok(body) => {
            abi::output(&body);
            0
        }
        Err(message) => {
            abi::error(if message.is_empty() { "unknown error" } else { &message });
            1
        }
    }
}

/// Makes a function the plugin: kinds filter and projection.
#[macro_export]
macro_rules! filter {
    ($transform:path) => {
        #[no_mangle]
        pub extern "C" fn transform_response() -> i32 {
            $crate::run($transform)
        }
    };
}

/// Makes a function the plugin: kind workflow. Its input is the arguments of its tool, a
/// JSON object; what it returns is the tool's answer, or an error for the agent.
#[macro_export]
macro_rules! workflow {
    ($work:path) => {
        #[no_mangle]
        pub extern "C" fn run_workflow() -> i32 {
            $crate::run($work)
        }
    };
}

#[cfg(target_arch = "wasm32")]
mod abi {
    use super::Level;

    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        fn input_length() -> u64;
        fn input_load_u8(offset: u64) -> u32;
        fn input_load_u64(offset: u64) -> u64;
        fn alloc(n: u64) -> u64;
        fn free(offset: u64);
        fn length(offset: u64) -> u64;
        fn load_u8(offset: u64) -> u32;
        fn load_u64(offset: u64) -> u64;
        fn store_u8(offset: u64, v: u32);
        fn store_u64(offset: u64, v: u64);
        fn output_set(offset: u64, n: u64);
        fn error_set(offset: u64);
        fn config_get(name: u64) -> u64;
        fn log_debug(offset: u64);
        fn log_info(offset: u64);
        fn log_warn(offset: u64);
        fn log_error(offset: u64);
    }

    #[link(wasm_import_module = "extism:host/user")]
    extern "C" {
        fn sluice_call(lines: u64) -> u64;
        fn sluice_derive(handle: u64, prefix: u64, message: u64) -> u64;
        fn sluice_sign(handle: u64, message: u64) -> u64;
        fn sluice_token(name: u64) -> u64;
        fn sluice_token_fetch(name: u64, request: u64) -> u64;
    }

    fn read(n: u64, word: unsafe fn(u64) -> u64, byte: unsafe fn(u64) -> u32) -> Vec<u8> {
        let mut b = Vec::with_capacity(n as usize);
        let mut i = 0;
        while i + 8 <= n {
            b.extend_from_slice(&unsafe { word(i) }.to_le_bytes());
            i += 8;
        }
        while i < n {
            b.push(unsafe { byte(i) } as u8);
            i += 1;
        }
        b
    }

    fn store(b: &[u8]) -> u64 {
        if b.is_empty() {
            return 0;
        }
        let at = unsafe { alloc(b.len() as u64) };
        assert!(at != 0, "the exchange memory is exhausted");
        let words = b.chunks_exact(8);
        let rest = words.remainder();
        let tail = at + (b.len() - rest.len()) as u64;
        for (i, w) in words.enumerate() {
            unsafe { store_u64(at + 8 * i as u64, u64::from_le_bytes(w.try_into().unwrap())) };
        }
        for (i, c) in rest.iter().enumerate() {
            unsafe { store_u8(tail + i as u64, u32::from(*c)) };
        }
        at
    }

    pub fn input() -> Vec<u8> {
        read(
            unsafe { input_length() },
            |i| unsafe { input_load_u64(i) },
            |i| unsafe { input_load_u8(i) },
        )
    }

    pub fn output(b: &[u8]) {
        if !b.is_empty() {
            unsafe { output_set(store(b), b.len() as u64) };
        }
    }

    pub fn error(message: &str) {
        unsafe { error_set(store(message.as_bytes())) };
    }

    pub fn config(name: &str) -> Vec<u8> {
        let key = store(name.as_bytes());
        let at = unsafe { config_get(key) };
        unsafe { free(key) };
        take(at)
    }

    pub fn call_tools(lines: &[u8]) -> Vec<u8> {
        take(unsafe { sluice_call(store(lines)) })
    }

    pub fn derive(key: u64, prefix: &[u8], message: &[u8]) -> u64 {
        unsafe { sluice_derive(key, store(prefix), store(message)) }
    }

    pub fn sign(key: u64, message: &[u8]) -> Vec<u8> {
        take(unsafe { sluice_sign(key, store(message)) })
    }

    pub fn token(name: &[u8]) -> u64 {
        unsafe { sluice_token(store(name)) }
    }

    pub fn token_fetch(name: &[u8], request: &[u8]) -> u64 {
        unsafe { sluice_token_fetch(store(name), store(request)) }
    }

    fn take(at: u64) -> Vec<u8> {
        if at == 0 {
            return Vec::new();
        }
        let n = unsafe { length(at) };
        let mut b = Vec::with_capacity(n as usize);
        let mut i = 0;
        while i + 8 <= n {
            b.extend_from_slice(&unsafe { load_u64(at + i) }.to_le_bytes());
            i += 8;
        }
        while i < n {
            b.push(unsafe { load_u8(at + i) } as u8);
            i += 1;
        }
        unsafe { free(at) };
        b
    }

    pub fn log(level: Level, line: &str) {
        let at = store(line.as_bytes());
        unsafe {
            match level {
                Level::Debug => log_debug(at),
                Level::Info => log_info(at),
                Level::Warn => log_warn(at),
                Level::Error => log_error(at),
            }
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
use fake as abi;

/// The host's side, for tests on other targets.
#[cfg(not(target_arch = "wasm32"))]
pub mod fake {
    use super::Level;
    use std::cell::RefCell;
    use std::collections::HashMap;

    /// What a call is given, and what it made of it.
    #[derive(Default, Clone)]
    pub struct Host {
        pub body: Vec<u8>,
        pub config: HashMap<String, String>,
        /// Answers the calls of a workflow; without it every call fails.
        pub tools: Option<fn(tool: &str, arguments: &str) -> super::Answer>,
        /// Signs for an auth plugin, with the number of the handle; without it signatures are empty.
        pub sign: Option<fn(key: u64, message: &[u8]) -> Vec<u8>>,
        pub output: Vec<u8>,
        pub error: Option<String>,
        pub lines: Vec<String>,
    }

    thread_local!(static HOST: RefCell<Host> = RefCell::default());

    /// Runs a transform on a call, as a gateway does, and returns what it made.
    pub fn run(host: Host, transform: fn(&super::Call, Vec<u8>) -> Result<Vec<u8>, String>) -> Host {
        HOST.with(|h| *h.borrow_mut() = host);
        super::run(transform);
        HOST.with(|h| h.borrow().clone())
    }

    /// Runs an auth plugin on a request, the body of the host.
    pub fn run_auth(host: Host, sign: fn(&super::Call, super::auth::Request) -> Result<super::auth::Patch, String>) -> Host {
        HOST.with(|h| *h.borrow_mut() = host);
        super::auth::run(sign);
        HOST.with(|h| h.borrow().clone())
    }

    /// A derived key has the next number in a test.
    pub(crate) fn derive(key: u64, _prefix: &[u8], _message: &[u8]) -> u64 {
        key + 2
    }

    pub(crate) fn sign(key: u64, message: &[u8]) -> Vec<u8> {
        HOST.with(|h| h.borrow().sign).map(|f| f(key, message)).unwrap_or_default()
    }

    /// No test has a token that was kept, and each gets one.
    pub(crate) fn token(_: &[u8]) -> u64 {
        0
    }

    pub(crate) fn token_fetch(_: &[u8], _: &[u8]) -> u64 {
        100
    }

    pub(crate) fn input() -> Vec<u8> {
        HOST.with(|h| h.borrow().body.clone())
    }

    pub(crate) fn output(b: &[u8]) {
        HOST.with(|h| h.borrow_mut().output = b.to_vec());
    }

    pub(crate) fn error(message: &str) {
        HOST.with(|h| h.borrow_mut().error = Some(message.to_string()));
    }

    pub(crate) fn config(name: &str) -> Vec<u8> {
        HOST.with(|h| h.borrow().config.get(name).cloned().unwrap_or_default().into_bytes())
    }

    pub(crate) fn call_tools(lines: &[u8]) -> Vec<u8> {
        let tools = HOST.with(|h| h.borrow().tools);
        let quote = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"));
        let lines = String::from_utf8_lossy(lines).into_owned();
        let answer = |line: &str| {
            let (tool, arguments) = line.trim_start_matches("{\"tool\":\"").split_once("\",\"arguments\":").unwrap_or_default();
            let a = match tools {
                Some(f) => f(tool, arguments.strip_suffix('}').unwrap_or_default()),
                None => super::Answer { error: Some("the test has no tools".into()), ..Default::default() },
            };
            let rest = match (a.value, a.text) {
                (Some(v), _) => format!("\"value\":{v}"),
                (None, Some(t)) => format!("\"text\":{}", quote(&t)),
                (None, None) => format!("\"error\":{}", quote(&a.error.unwrap_or_default())),
            };
            ["{\"status\":", &a.status.to_string(), ",", &rest, "}"].concat()
        };
        lines.trim_end().split('\n').map(answer).collect::<Vec<_>>().join("\n").into_bytes()
    }

    pub(crate) fn log(_: Level, line: &str) {
        HOST.with(|h| h.borrow_mut().lines.push(line.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper(call: &Call, body: Vec<u8>) -> Result<Vec<u8>, String> {
        call.log(Level::Warn, "seen");
        if call.status() != 200 {
            return Err(format!("status {}", call.status()));
        }
        Ok([call.tool().into_bytes(), body.to_ascii_uppercase()].concat())
    }

    #[test]
    fn transforms_and_fails() {
        let mut host = fake::Host { body: b"abc".to_vec(), ..Default::default() };
        host.config.insert("sluice.status".into(), "200".into());
        host.config.insert("sluice.tool".into(), "t".into());
        let done = fake::run(host.clone(), upper);
        assert_eq!(done.output, b"tABC");
        assert_eq!(done.lines, ["seen"]);
        host.config.insert("sluice.status".into(), "500".into());
        assert_eq!(fake::run(host, upper).error.as_deref(), Some("status 500"));
    }

    fn sum(call: &Call, arguments: Vec<u8>) -> Result<Vec<u8>, String> {
        let first = call.call("list", "{\n}").json()?;
        let rest = call.call_all(&[("get", "{\"id\":1}"), ("get", "{\"id\":2}")]);
        Ok(format!("{}{first}{:?}{:?}", String::from_utf8_lossy(&arguments), rest[0].text, rest[1].error).into_bytes())
    }

    #[test]
    fn calls_tools() {
        let mut host = fake::Host { body: b"{}".to_vec(), ..Default::default() };
        assert_eq!(fake::run(host.clone(), sum).error.as_deref(), Some("the test has no tools"));
        host.tools = Some(|tool, arguments| match (tool, arguments) {
            ("list", "{ }") => Answer { status: 200, value: Some("[1,2]".into()), ..Default::default() },
            ("get", "{\"id\":1}") => Answer { status: 200, text: Some("a \"b\"\n".into()), ..Default::default() },
            _ => Answer { status: 404, error: Some("none".into()), ..Default::default() },
        });
        assert_eq!(fake::run(host, sum).output, b"{}[1,2]Some(\"a \\\"b\\\"\\n\")Some(\"none\")");
        assert_eq!(Answer::parse(r#"{"status":1,"text":"\"a\""}"#).text.as_deref(), Some("\"a\""));
        assert_eq!(Answer::parse(r#"{"status":0,"error":"\u00e4\ud83d\ude00"}"#).error.as_deref(), Some("ä😀"));
    }
}
