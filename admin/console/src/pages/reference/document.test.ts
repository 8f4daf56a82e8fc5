import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { descriptionOf, etagSource, maxDepth, operationsOf, resolve, sample, search, typeOf, type ApiDocument, type Operation } from "./document";
import { problems } from "./problems";
import { curl, indented, missing, prepare } from "./request";

// The document that a node serves: a test of the API compares it.
const document = JSON.parse(readFileSync("../testdata/openapi.json", "utf8")) as ApiDocument;
const operations = operationsOf(document);
const named = (id: string) => operations.find((o) => o.operationId === id) as Operation;

describe("the document", () => {
  it("has every operation below a tag that it explains", () => {
    const tags = new Set(document.tags?.map((t) => t.name));
    expect(operations.length).toBeGreaterThan(150);
    expect(operations.filter((o) => !tags.has(o.tag))).toEqual([]);
  });
  it("is searched by all words, in any case", () => {
    expect(search(operations, "VERIFY-toolset domain").map((o) => o.operationId)).toEqual(["verify-toolset-domain"]);
    expect(search(operations, "domain nothing-like-it")).toEqual([]);
    expect(search(operations, "  ")).toHaveLength(operations.length);
  });
  it("gives each body an example that is bounded", () => {
    for (const o of operations) {
      for (const { schema } of [...Object.values(o.requestBody?.content ?? {}), ...Object.values(o.responses).flatMap((r) => Object.values(r.content ?? {}))]) {
        expect(JSON.stringify(sample(document, schema ?? {}, { of: "answer" })).length, o.operationId).toBeLessThan(100_000);
      }
    }
  });
  it("ends where a schema is in itself, and where a reference is a circle", () => {
    const self: ApiDocument = {
      info: document.info,
      paths: {},
      components: { schemas: { Node: { type: "object", properties: { child: { $ref: "#/components/schemas/Node" } } }, A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
    };
    const text = JSON.stringify(sample(self, { $ref: "#/components/schemas/Node" }, { of: "answer" }));
    expect(text.split("child").length - 1).toBe(maxDepth);
    expect(resolve(self, { $ref: "#/components/schemas/A" }).name).not.toBe("");
  });
  it("says types in words", () => {
    expect(typeOf(document, { type: "array", items: { $ref: "#/components/schemas/Domain" } })).toBe("list of Domain");
    expect(typeOf(document, { type: "string", format: "date-time" })).toBe("time (RFC 3339)");
    expect(typeOf(document, { type: "object", additionalProperties: { type: "string" } })).toBe("object of text");
  });
  it("does not say the role and the summary twice", () => {
    expect(descriptionOf(named("get-toolset"))).toBe("");
    expect(descriptionOf(named("add-domain"))).toMatch(/^The answer has .* at once\.$/);
  });
  it("leaves secrets out of examples of answers", () => {
    const schema = { properties: { apiKey: { type: "string", writeOnly: true }, id: { type: "string", readOnly: true } } };
    expect(sample(document, schema, { of: "answer" })).toEqual({ id: "" });
    expect(sample(document, schema, { of: "request" })).toEqual({ apiKey: "" });
  });
});

it("the ETag is read at the nearest path above that has one", () => {
  expect(etagSource(document, named("patch-toolset"))).toBe("/v1/toolsets/{id}");
  expect(etagSource(document, named("get-toolset"))).toBeUndefined();
});

describe("a request", () => {
  const patch = named("patch-toolset");
  it("is the same for the browser and for curl", () => {
    const r = prepare(patch, { "path id": "my pets", "header If-Match": '"4"' }, '{"name":"It\'s"}');
    expect(r.path).toBe("/v1/toolsets/my%20pets");
    expect(curl(r, "https://node")).toBe(
      `curl -X PATCH https://node/v1/toolsets/my%20pets -H "Authorization: Bearer $SLUICE_TOKEN" -H 'If-Match: "4"' -H 'Content-Type: application/merge-patch+json' -d '{"name":"It'\\''s"}'`,
    );
  });
  it("keeps a place that is not filled in, and names it", () => {
    expect(prepare(patch, {}, undefined).path).toBe("/v1/toolsets/{id}");
    expect(missing(patch, { "header If-Match": "*" }).map((p) => p.name)).toEqual(["id"]);
  });
  it("has its query encoded", () => {
    expect(prepare(named("list-domains"), { "query filter": "state:live cause:none", "query limit": "2" }, undefined).path).toBe("/v1/domains?limit=2&filter=state%3Alive%20cause%3Anone");
  });
  it("has an answer that is indented where it is JSON", () => {
    expect(indented('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(indented("no JSON")).toBe("no JSON");
  });
});

it("the codes of problems are those of the documentation", () => {
  const text = readFileSync("../../docs/admin-api.md", "utf8").split("## Problem codes")[1] ?? "";
  const told = [...text.matchAll(/### (\w+)\n([^]*?)(?=\n### |$)/g)].map(([, code, means]) => [code, means?.replaceAll("`", "").split(/\s+/).join(" ").trim()]);
  expect(problems).toEqual(Object.fromEntries(told.filter(([, means]) => !means?.startsWith("Of the command line only"))));
});
