/** Which records of the audit log are shown; it is in the address. */
export interface AuditSearch {
  /** The id of an actor, or KIND and what kind of one. */
  who?: string;
  /** How the action begins. */
  what?: string;
  /** The id of what was changed, or a part of its name. */
  of?: string;
  outcome?: keyof typeof auditOutcomes;
  /** Days of this time zone. */
  from?: string;
  to?: string;
}

export const KIND = "kind:";

export const auditOutcomes = { ok: "Done", failed: "Failed", refused: "Refused" } as const;

/** Takes what is understood of an address, and drops the rest. */
export function readAuditSearch(s: Record<string, unknown>): AuditSearch {
  const text = (value: unknown) => (typeof value === "string" && value.trim() ? value.trim().slice(0, 80) : undefined);
  const day = (value: unknown) => (typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(midnight(value).getTime()) ? value : undefined);
  const outcome = typeof s.outcome === "string" && Object.hasOwn(auditOutcomes, s.outcome) ? s.outcome : undefined;
  const found = { who: text(s.who), what: text(s.what), of: text(s.of), outcome, from: day(s.from), to: day(s.to) };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as AuditSearch;
}

const midnight = (day: string, later = 0) => {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + later);
  return at;
};

/** An id as the node makes them: tok_01JQ8Z6J5X2V4T7N9B3C1D0E8F. */
const id = /^[a-z]+_[0-9A-Z]{26}$/;

/** The filter of the API that finds the same. */
export function auditFilter(s: AuditSearch): string {
  const word = (value: string) => value.replace(/[",\s*]/g, "");
  const quoted = (value: string) => `"${value.replaceAll('"', "")}"`;
  const terms = [
    s.who?.startsWith(KIND) ? `actorType:${word(s.who.slice(KIND.length))}` : s.who ? `actor:${quoted(s.who)}` : "",
    s.what && word(s.what) ? `action:${word(s.what)}*` : "",
    s.of ? `${id.test(s.of) ? "resource" : "resourceName"}:${quoted(s.of)}` : "",
    s.outcome ? `outcome:${s.outcome}` : "",
    s.from ? `time:>=${midnight(s.from).toISOString()}` : "",
    s.to ? `time:<${midnight(s.to, 1).toISOString()}` : "",
  ];
  return terms.filter(Boolean).join(" ");
}
