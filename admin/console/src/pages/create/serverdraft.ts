import { api, unwrap, type Schemas } from "../../lib/api";
import { finish } from "../../lib/jobs";
import { keepDraft, readDraft } from "./draft";

/** The address that was entered last, and the draft that was made of it. It outlives a reload. */
interface ServerDraft {
  url: string;
  slug: string;
}

const KEY = "sluice.mcp-server";

export function readServer(): ServerDraft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "") as Partial<ServerDraft>;
    return { url: String(kept.url ?? ""), slug: String(kept.slug ?? "") };
  } catch {
    return { url: "", slug: "" };
  }
}

export const keepServer = (draft: ServerDraft) => sessionStorage.setItem(KEY, JSON.stringify(draft));

export const dropServer = () => sessionStorage.removeItem(KEY);

/** How a server is authenticated at: with nothing, a credential, or a login that was finished. */
export interface Access {
  authentication?: Schemas["SetAuth"];
  login?: string;
}

/** Makes a draft of a server on the node, neither tested nor deployed. */
export async function createDraft(url: string, access: Access, onPhase: (phase: string) => void): Promise<string> {
  const made = await finish<Schemas["CreatedToolset"]>(
    api.POST("/v1/toolsets", { body: { source: { mcp: { url } }, ...access, profile: "lossless", deploy: { skip: true } } }),
    onPhase,
  );
  keepServer({ url, slug: made.slug });
  keepDraft({ ...readDraft(), slug: made.slug, token: made.accessToken?.token ?? "" });
  return made.slug;
}

/** A login that was begun at a server, as it stands. */
export const loginQuery = (id: string) => ({
  queryKey: ["mcp-login", id],
  queryFn: () => unwrap(api.GET("/v1/mcp/logins/{id}", { params: { path: { id } } })),
  enabled: id !== "",
  retry: false,
});
