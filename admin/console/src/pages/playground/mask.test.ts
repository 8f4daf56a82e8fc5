import { describe, expect, it } from "vitest";
import { compare } from "./diff";
import { dropped, kept, readMask, writeMask } from "./mask";

describe("masks", () => {
  it.each([
    ["items(id,owner.login)", "items.id,items.owner.login"],
    ["-body, items/id", "-body,items.id"],
    ["-a(b,c)", "-a.b,-a.c"],
    ["`odd name`.`tick``s`", "`odd name`.`tick``s`"],
    ["*,-x", "*,-x"],
    ["", ""],
  ])("%s is %s", (text, want) => expect(writeMask(readMask(text))).toBe(want));

  it.each([
    ["", ["url"], "-url"],
    ["-a", ["b", "c"], "-a,-b.c"],
    ["id,name", ["name"], "id"],
    ["id,owner", ["owner", "email"], "id,owner,-owner.email"],
    ["-a.b,-a.c", ["a"], "-a"],
  ])("%s without %s is %s", (fields, path, want) => expect(dropped(fields, path).fields).toBe(want));
});

const before = { id: 1, html_url: "https://x", node_id: "n", owner: { login: "ada", avatar: "p", bio: "b" } };

describe("giving a member back", () => {
  it("takes a drop of the tool away", () => {
    expect(kept("-html_url,-node_id", "concise", ["html_url"], compare(before, { id: 1 }))).toEqual({ fields: "-node_id" });
  });
  it("adds to what the tool keeps", () => {
    expect(kept("id", "concise", ["html_url"], compare(before, { id: 1 }))).toEqual({ fields: "id,html_url" });
  });
  it("keeps what else the default projection leaves out left out", () => {
    const diff = compare(before, { id: 1, owner: { login: "ada", bio: "b" } });
    expect(diff.leftOut).toEqual([["html_url"], ["node_id"], ["owner", "avatar"]]);
    expect(kept("", "concise", ["html_url"], diff)).toEqual({ fields: "-node_id,-owner.avatar", profile: "lossless" });
  });
  it("gives one member of an object back", () => {
    expect(kept("-owner", "lossless", ["owner", "login"], compare(before, { ...before, owner: undefined as never }))).toEqual({ fields: "-owner.avatar,-owner.bio" });
  });
});

describe("what an agent does not get", () => {
  it("is told by rows", () => {
    const diff = compare([{ id: 1, note: null }, { id: 2, note: "x" }], [{ id: 1 }, { id: 2, note: "x" }]);
    expect(diff.leftOut).toEqual([]);
    expect(diff.lines.filter((l) => l.removed).map((l) => [l.name, l.text])).toEqual([["note", "null"]]);
  });
  it("is told by members where rows were left out", () => {
    expect(compare([{ id: 1, url: "a" }, { id: 2, url: "b" }], [{ id: 2 }]).leftOut).toEqual([["url"]]);
  });
  it("is bounded", () => {
    const diff = compare(Array.from({ length: 4000 }, (_, id) => ({ id })), []);
    expect(diff.shortened).toBe(true);
    expect(diff.lines.length).toBeLessThan(40);
  });
});
