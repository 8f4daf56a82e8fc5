//! Auth plugins: the request that they sign, and the handles that they sign with. A plugin
//! never sees a secret.

use crate::{abi, unquote};

/// The request that an auth plugin signs, as it is about to be sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub method: String,
    pub url: String,
    /// Names and values, Host among them.
    pub headers: Vec<(String, String)>,
    /// None when it is longer than 1 MB.
    pub body: Option<Vec<u8>>,
    pub body_bytes: u64,
    /// Lower-case hexadecimal digits.
    pub body_sha256: String,
    /// RFC 3339, to sign with: a plugin has no clock.
    pub time: String,
    pub credentials: Vec<Credential>,
}

/// A credential of the toolset without its secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Credential {
    /// Stands for the secret.
    pub key: Key,
    /// header, query, cookie, basic, bearer or token.
    pub kind: String,
    /// The security scheme that it fulfils; may be empty.
    pub scheme: String,
    /// basic: the part that is no secret.
    pub username: String,
}

/// Stands for a secret, for a key that was derived from one, or for an access token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub u64);

impl Key {
    /// Makes a key: the keyed hash of message, with prefix and this key as its secret. Only the
    /// first derivation may have a prefix. A plugin that derives more often than its manifest
    /// says is stopped.
    pub fn derive(self, prefix: &[u8], message: &[u8]) -> Key {
        Key(abi::derive(self.0, prefix, message))
    }

    /// Returns the keyed hash or the signature of a message. The key must have been derived as
    /// often as the manifest says, and none can be derived afterwards.
    pub fn sign(self, message: &[u8]) -> Vec<u8> {
        abi::sign(self.0, message)
    }

    /// The access token that was fetched under a name; None: there is none that is good.
    pub fn token(name: &str) -> Option<Key> {
        Some(Key(abi::token(name.as_bytes()))).filter(|k| k.0 != 0)
    }

    /// Has an access token fetched from a host that was granted, and kept under a name. The
    /// body is sent as a POST.
    pub fn fetch_token(name: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Key {
        let headers: Vec<String> = headers.iter().map(|(k, v)| [&quote(k), ":", &quote(v)].concat()).collect();
        let request = ["{\"url\":", &quote(url), ",\"headers\":{", &headers.join(","), "},\"body\":", &quote(body), "}"].concat();
        Key(abi::token_fetch(name.as_bytes(), request.as_bytes()))
    }
}

/// What is set on a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    pub headers: Vec<(String, String)>,
    /// Appended.
    pub query: Vec<(String, String)>,
    /// Replaces the body.
    pub body: Option<Vec<u8>>,
    /// Headers with an access token: name, what stands before it ("Bearer "), and its handle.
    pub tokens: Vec<(String, String, Key)>,
}

impl Patch {
    /// Sets a header.
    pub fn header(mut self, name: &str, value: &str) -> Patch {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn json(&self) -> String {
        let join = |list: Vec<String>| list.join(",");
        let headers = join(self.headers.iter().map(|(k, v)| [&quote(k), ":", &quote(v)].concat()).collect());
        let query = join(self.query.iter().map(|(k, v)| ["[", &quote(k), ",", &quote(v), "]"].concat()).collect());
        let tokens = join(
            self.tokens
                .iter()
                .map(|(k, p, t)| [&quote(k), ":{\"handle\":", &t.0.to_string(), ",\"prefix\":", &quote(p), "}"].concat())
                .collect(),
        );
        let mut out = ["{\"headers\":{", &headers, "}"].concat();
        if !query.is_empty() {
            out += &[",\"query\":[", &query, "]"].concat();
        }
        if !tokens.is_empty() {
            out += &[",\"tokens\":{", &tokens, "}"].concat();
        }
        if let Some(body) = &self.body {
            out += &[",\"body\":\"", &encode(body), "\""].concat();
        }
        out + "}"
    }
}

/// Lower-case hexadecimal digits, as most APIs want signatures.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[(b >> 4) as usize] as char, DIGITS[(b & 15) as usize] as char]).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity((bytes.len() + 2) / 3 * 4);
    for three in bytes.chunks(3) {
        let n = three.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            out.push(if i <= three.len() { BASE64[(n >> (18 - 6 * i) & 63) as usize] as char } else { '=' });
        }
    }
    out
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut n, mut bits) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        n = (n << 6 | BASE64.iter().position(|b| *b == c)? as u32) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((n >> bits) as u8);
        }
    }
    Some(out)
}

fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 32 => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Reads the JSON that a gateway writes: what it does not know is passed over.
struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, c: char) -> bool {
        self.text = self.text.trim_start();
        match self.text.strip_prefix(c) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// A string with its quotes, a number or a word.
    fn scalar(&mut self) -> Option<&'a str> {
        self.text = self.text.trim_start();
        let b = self.text.as_bytes();
        let mut end = 0;
        if b.first() == Some(&b'"') {
            end = 1;
            while *b.get(end)? != b'"' {
                end += if b[end] == b'\\' { 2 } else { 1 };
            }
            end += 1;
        } else {
            while end < b.len() && !b",]}".contains(&b[end]) {
                end += 1;
            }
        }
        let (value, rest) = (self.text.get(..end)?, self.text.get(end..)?);
        self.text = rest;
        Some(value).filter(|v| !v.is_empty())
    }

    fn string(&mut self) -> Option<String> {
        self.scalar().map(unquote)
    }

    fn list<T>(&mut self, each: &mut dyn FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut out = Vec::new();
        if !self.skip('[') {
            self.scalar()?; // null
            return Some(out);
        }
        while !self.skip(']') {
            out.push(each(self)?);
            self.skip(',');
        }
        Some(out)
    }

    fn object(&mut self, each: &mut dyn FnMut(&str, &mut Self) -> Option<()>) -> Option<()> {
        if !self.skip('{') {
            return None;
        }
        while !self.skip('}') {
            let name = self.string()?;
            if !self.skip(':') {
                return None;
            }
            each(&name, self)?;
            self.skip(',');
        }
        Some(())
    }

    /// Passes over a value.
    fn pass(&mut self) -> Option<()> {
        self.text = self.text.trim_start();
        match self.text.as_bytes().first()? {
            b'{' => self.object(&mut |_, r| r.pass()),
            b'[' => self.list(&mut |r| r.pass()).map(|_| ()),
            _ => self.scalar().map(|_| ()),
        }
    }
}

impl Request {
    pub(crate) fn parse(text: &str) -> Option<Request> {
        let mut q = Request::default();
        Reader { text }.object(&mut |name, r| {
            match name {
                "method" => q.method = r.string()?,
                "url" => q.url = r.string()?,
                "bodySha256" => q.body_sha256 = r.string()?,
                "time" => q.time = r.string()?,
                "bodyBytes" => q.body_bytes = r.scalar()?.trim().parse().ok()?,
                "body" => {
                    let v = r.scalar()?;
                    q.body = if v.starts_with('"') { Some(decode(&unquote(v))?) } else { None };
                }
                "headers" => {
                    q.headers = r.list(&mut |r| {
                        let mut pair = r.list(&mut |r| r.string())?.into_iter();
                        Some((pair.next()?, pair.next()?))
                    })?
                }
                "credentials" => {
                    q.credentials = r.list(&mut |r| {
                        let mut c = Credential::default();
                        r.object(&mut |name, r| {
                            match name {
                                "handle" => c.key = Key(r.scalar()?.trim().parse().ok()?),
                                "type" => c.kind = r.string()?,
                                "scheme" => c.scheme = r.string()?,
                                "username" => c.username = r.string()?,
                                _ => r.pass()?,
                            }
                            Some(())
                        })?;
                        Some(c)
                    })?
                }
                _ => r.pass()?,
            }
            Some(())
        })?;
        Some(q)
    }
}

/// Signs one request; what [`auth!`](crate::auth!) exports calls it.
pub fn run(sign: fn(&crate::Call, Request) -> Result<Patch, String>) -> i32 {
    let request = String::from_utf8(abi::input()).ok().and_then(|text| Request::parse(&text));
    match request.ok_or_else(|| "the request cannot be read".to_string()).and_then(|q| sign(&crate::Call(()), q)) {
        Ok(patch) => {
            abi::output(patch.json().as_bytes());
            0
        }
        Err(message) => {
            abi::error(if message.is_empty() { "unknown error" } else { &message });
            1
        }
    }
}

/// Makes a function the plugin: kind auth.
#[macro_export]
macro_rules! auth {
    ($sign:path) => {
        #[no_mangle]
        pub extern "C" fn transform_request() -> i32 {
            $crate::auth::run($sign)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    const REQUEST: &str = r#"{"method":"POST","url":"https://a.example/?x=1\u0026y=\"2\"","headers":[["Host","a.example"],["X","a\\b"]],
 "body":"aGk=","bodyBytes":2,"bodySha256":"8f","time":"2026-03-01T12:00:00Z","later":{"a":[1,{"b":null}],"c":"}"},
 "credentials":[{"handle":1,"type":"basic","scheme":"aws","username":"AKID","later":[]},{"handle":2,"type":"header"}]}"#;

    #[test]
    fn reads_requests() {
        let q = Request::parse(REQUEST).unwrap();
        assert_eq!((q.method.as_str(), q.url.as_str(), q.body_bytes), ("POST", "https://a.example/?x=1&y=\"2\"", 2));
        assert_eq!(q.headers, [("Host".into(), "a.example".into()), ("X".into(), "a\\b".into())]);
        assert_eq!((q.body.as_deref(), q.body_sha256.as_str(), q.time.as_str()), (Some(&b"hi"[..]), "8f", "2026-03-01T12:00:00Z"));
        assert_eq!((q.credentials[0].username.as_str(), q.credentials[1].key, q.credentials.len()), ("AKID", Key(2), 2));
        assert_eq!(Request::parse(r#"{"body":null,"credentials":null}"#), Some(Request::default()));
        for bad in ["", "[]", "{", r#"{"method":"#, r#"{"method":"a"#, r#"{"bodyBytes":x}"#, r#"{"headers":[["a"]]}"#, r#"{"body":"?"}"#] {
            assert_eq!(Request::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn writes_patches() {
        let mut p = Patch::default().header("X-Sig", "a\"b\n");
        assert_eq!(p.json(), r#"{"headers":{"X-Sig":"a\"b\u000a"}}"#);
        p.query.push(("k".into(), "v".into()));
        p.tokens.push(("Authorization".into(), "Bearer ".into(), Key(7)));
        p.body = Some(b"hi!".to_vec());
        assert_eq!(
            p.json(),
            r#"{"headers":{"X-Sig":"a\"b\u000a"},"query":[["k","v"]],"tokens":{"Authorization":{"handle":7,"prefix":"Bearer "}},"body":"aGkh"}"#
        );
        for (bytes, text) in [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\xfc", "//79/A==")] {
            assert_eq!((encode(bytes).as_str(), decode(text).as_deref()), (text, Some(bytes)));
        }
        assert_eq!(hex(b"\x00\xfa"), "00fa");
    }

    fn sign(_: &crate::Call, q: Request) -> Result<Patch, String> {
        let c = q.credentials.first().ok_or("there is no credential")?;
        let token = Key::token("t").unwrap_or_else(|| Key::fetch_token("t", "https://id.example", &[], "a=b"));
        let mut p = Patch::default().header("X", &hex(&c.key.derive(b"p", b"m").sign(q.url.as_bytes())));
        p.tokens.push(("Authorization".into(), String::new(), token));
        Ok(p)
    }

    #[test]
    fn signs() {
        let mut host = fake::Host { body: REQUEST.into(), ..Default::default() };
        host.sign = Some(|key, message| [key.to_string().as_bytes(), message].concat());
        let done = fake::run_auth(host.clone(), sign);
        assert_eq!(done.error, None);
        assert!(String::from_utf8(done.output).unwrap().starts_with("{\"headers\":{\"X\":\"33"));
        host.body = b"{}".to_vec();
        assert_eq!(fake::run_auth(host.clone(), sign).error.as_deref(), Some("there is no credential"));
        host.body = b"no".to_vec();
        assert_eq!(fake::run_auth(host, sign).error.as_deref(), Some("the request cannot be read"));
    }
}
