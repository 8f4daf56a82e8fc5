import type { Schemas } from "./api";

/** How one AI application is set up for a toolset; `sluice client` prints the same. */
export interface ClientSetup {
  id: string;
  title: string;
  /** What to do with the text. */
  how: string;
  text: string;
  /** Opens the application by itself. */
  link?: string;
}

type Target = Pick<Schemas["Toolset"], "slug" | "url" | "access">;

/** A word as a shell reads it. */
export const shellWord = (s: string) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`);

/** The variable of the environment that holds an access token of a toolset. */
export const tokenVariable = (slug: string) => `SLUICE_${slug.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_TOKEN`;

/** The base64 form of text in UTF-8. */
const base64 = (text: string) => btoa(Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join(""));

const json = (value: unknown) => JSON.stringify(value, null, 2);

export function clientSetups({ slug, url, access }: Target): ClientSetup[] {
  const token = access.mode === "token";
  const variable = tokenVariable(slug);
  const header = token ? ` --header 'Authorization: Bearer \${${variable}}'` : "";
  const headers = (reference: string) => (token ? { headers: { Authorization: `Bearer ${reference}` } } : {});
  const name = shellWord(slug);
  const address = shellWord(url);

  const cursor = { url, ...headers(`\${env:${variable}}`) };
  const code = token
    ? json({
        inputs: [{ type: "promptString", id: `${slug}-token`, description: `Access token of ${slug}`, password: true }],
        servers: { [slug]: { type: "http", url, ...headers(`\${input:${slug}-token}`) } },
      })
    : `code --add-mcp ${shellWord(JSON.stringify({ name: slug, type: "http", url }))}`;

  return [
    {
      id: "claude-code",
      title: "Claude Code",
      how: "Run in a terminal",
      text: `claude mcp add --transport http ${name} ${address}${header}`,
    },
    {
      id: "claude-desktop",
      title: "Claude Desktop",
      how: "Run where Claude Desktop is installed: the file it reads takes no address, so the bridge sluice connect is put there",
      text: `sluice client ${name} --for claude-desktop --install`,
    },
    {
      id: "cursor",
      title: "Cursor",
      how: "Add to ~/.cursor/mcp.json, or open the link",
      text: json({ mcpServers: { [slug]: cursor } }),
      link: `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(slug)}&config=${encodeURIComponent(base64(JSON.stringify(cursor)))}`,
    },
    { id: "vscode", title: "VS Code", how: token ? "Write to .vscode/mcp.json" : "Run in a terminal", text: code },
    {
      id: "codex",
      title: "Codex",
      how: "Run in a terminal",
      text: `codex mcp add ${name} --url ${address}${token ? ` --bearer-token-env-var ${variable}` : ""}`,
    },
    { id: "gemini", title: "Gemini CLI", how: "Run in a terminal", text: `gemini mcp add --transport http ${name} ${address}${header}` },
    {
      id: "curl",
      title: "curl",
      how: "Lists the tools",
      text: `curl -s ${address} -H 'Content-Type: application/json'${token ? ` -H "Authorization: Bearer $${variable}"` : ""} -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    },
  ];
}
