// The plugin of the conformance cases in AssemblyScript, on Extism's own package.
import { Config, Host, LogLevel, Memory } from "@extism/as-pdk";

// The package has no function for it.
@external("extism:host/env", "error_set")
declare function error_set(offset: u64): void;

// The package's own counts UTF-16 units.
function output(text: string): void {
  Host.output(Uint8Array.wrap(String.UTF8.encode(text)));
}

function setting(name: string): string {
  const value = Config.get(name);
  return value === null ? "" : value;
}

export function transform_response(): i32 {
  const what = setting("do");
  if (what == "echo") {
    Host.output(Host.input());
  } else if (what == "upper") {
    output(Host.inputString().toUpperCase());
  } else if (what == "context") {
    let out = "";
    const names = ["sluice.tool", "sluice.operation", "sluice.status", "sluice.content_type", "sluice.arguments", "sluice.config"];
    for (let i = 0; i < names.length; i++) out += setting(names[i]) + "\n";
    output(out);
  } else if (what == "setting") {
    output(setting(setting("name")));
  } else if (what == "fail") {
    error_set(Memory.allocateString(setting("message")).offset);
    return 1;
  } else if (what == "log") {
    Host.log(LogLevel.Info, "first");
    Host.log(LogLevel.Warn, "second");
  }
  return 0;
}

function stop(message: string | null, file: string | null, line: u32, column: u32): void {}
