//! The plugin of the conformance cases on Extism's own Rust package.

use extism_pdk::*;

fn setting(name: &str) -> String {
    config::get(name).ok().flatten().unwrap_or_default()
}

#[plugin_fn]
pub fn transform_response(body: Vec<u8>) -> FnResult<Vec<u8>> {
    Ok(match setting("do").as_str() {
        "echo" => body,
        "upper" => body.to_ascii_uppercase(),
        "context" => ["tool", "operation", "status", "content_type", "arguments", "config"]
            .iter()
            .map(|name| setting(&format!("sluice.{name}")) + "\n")
            .collect::<String>()
            .into_bytes(),
        "setting" => setting(&setting("name")).into_bytes(),
        "fail" => return Err(WithReturnCode::new(Error::msg(setting("message")), 1)),
        "log" => {
            info!("first");
            warn!("second");
            Vec::new()
        }
        _ => Vec::new(),
    })
}
