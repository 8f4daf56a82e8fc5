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

/// Answers one call; what [`filter!`] exports calls it.
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
}
