import { describe, expect, it } from "vitest";
import { clientSetups, shellWord, tokenVariable } from "./clients";

const open = { slug: "demo", url: "http://127.0.0.1:7300/t/demo", access: { mode: "none" as const } };
const closed = { ...open, access: { mode: "token" as const } };
const text = (setup: typeof open | typeof closed, id: string) => clientSetups(setup).find((c) => c.id === id);

describe("clientSetups", () => {
  it("writes the command of Claude Code", () => {
    expect(text(open, "claude-code")?.text).toBe("claude mcp add --transport http demo http://127.0.0.1:7300/t/demo");
  });

  it("makes the link of Cursor from the inner object, as sluice client does", () => {
    expect(text(open, "cursor")?.link).toBe(
      "cursor://anysphere.cursor-deeplink/mcp/install?name=demo&config=eyJ1cmwiOiJodHRwOi8vMTI3LjAuMC4xOjczMDAvdC9kZW1vIn0%3D",
    );
  });

  it("refers to an access token and never holds one", () => {
    for (const setup of clientSetups(closed)) {
      if (setup.id === "claude-desktop") continue; // The command asks for one itself.
      expect(setup.text).toMatch(/SLUICE_DEMO_TOKEN|\$\{input:demo-token\}/);
    }
  });

  it("quotes for a shell", () => {
    expect(shellWord("a b")).toBe("'a b'");
    expect(shellWord("it's")).toBe(`'it'\\''s'`);
    expect(shellWord("http://h/t/x")).toBe("http://h/t/x");
    expect(tokenVariable("my-api")).toBe("SLUICE_MY_API_TOKEN");
  });
});
