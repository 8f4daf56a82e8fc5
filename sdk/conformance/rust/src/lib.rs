//! The plugin of the conformance cases in Rust.

use sluice::{Call, Level};

sluice::filter!(run);
sluice::workflow!(run);

fn run(call: &Call, body: Vec<u8>) -> Result<Vec<u8>, String> {
    Ok(match call.setting("do").as_str() {
        "echo" => body,
        "upper" => body.to_ascii_uppercase(),
        "context" => format!(
            "{}\n{}\n{}\n{}\n{}\n{}\n",
            call.tool(),
            call.operation(),
            call.status(),
            call.content_type(),
            call.arguments(),
            call.config()
        )
        .into_bytes(),
        "setting" => call.setting(&call.setting("name")).into_bytes(),
        "fail" => return Err(call.setting("message")),
        "log" => {
            call.log(Level::Info, "first");
            call.log(Level::Warn, "second");
            Vec::new()
        }
        "calls" => {
            let first = call.call("first", &String::from_utf8_lossy(&body));
            let rest = call.call_all(&[("second", "{}"), ("third", "{}")]);
            [vec![first], rest]
                .concat()
                .into_iter()
                .map(|a| format!("{} {}\n", a.status, a.value.or(a.text).or(a.error).unwrap_or_default()))
                .collect::<String>()
                .into_bytes()
        }
        _ => Vec::new(),
    })
}
