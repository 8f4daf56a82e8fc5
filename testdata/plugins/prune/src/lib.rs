//! prune is a filter of the benchmarks: it reads an answer with serde and writes it
//! again without members that hold nothing.

use serde_json::Value;

#[cfg(target_arch = "wasm32")]
sluice::filter!(transform);

#[cfg(target_arch = "wasm32")]
fn transform(_: &sluice::Call, body: Vec<u8>) -> Result<Vec<u8>, String> {
    prune(&body)
}

/// What the filter does, for both targets.
pub fn prune(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut v: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    trim(&mut v);
    serde_json::to_vec(&v).map_err(|e| e.to_string())
}

fn trim(v: &mut Value) -> bool {
    match v {
        Value::Object(m) => {
            m.retain(|_, v| trim(v));
            !m.is_empty()
        }
        Value::Array(a) => {
            a.iter_mut().for_each(|v| {
                trim(v);
            });
            !a.is_empty()
        }
        Value::String(s) => !s.is_empty(),
        v => !v.is_null(),
    }
}
