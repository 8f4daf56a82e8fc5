/** What was entered as the source. It outlives the page, so that Back loses nothing. */
export interface Source {
  kind: "file" | "paste" | "url";
  fileName: string;
  text: string;
  url: string;
}

interface Draft {
  source: Source;
  /** The toolset that was made of exactly this source; empty: none yet. */
  slug: string;
  /** Opens the URL of that toolset. The API shows it once, when the toolset is made. */
  token: string;
  /** There was a toolset of this source, which was read again. */
  refreshed?: boolean;
}

const empty: Draft = { source: { kind: "file", fileName: "", text: "", url: "" }, slug: "", token: "" };

let kept = empty;

export const readDraft = () => kept;

export const keepDraft = (draft: Draft) => {
  kept = draft;
};

export const dropDraft = () => {
  kept = empty;
};
