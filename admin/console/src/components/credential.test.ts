import { expect, test } from "vitest";
import { listed, missingOfAll, scopesOf } from "./credentiallist";
import { bodyOfAll, inHeader, keyKinds, togetherOf, type Auth, type Method } from "./credential";

const method = (id: string, suggestion: object, others: string[] = []) => ({ id, type: "apiKey", operations: 1, suggestion, with: others }) as unknown as Method;

test("what a specification wants together is entered together", () => {
  const key = method("key", { authType: "header", headerName: "X-Key" }, ["app"]);
  const app = method("app", { authType: "header", headerName: "X-App" }, ["key"]);
  const login = method("login", { authType: "oauth2", grant: "authorization_code" });
  expect(togetherOf([login, key, app], keyKinds)).toEqual([
    { authType: "header", headerName: "X-Key", scheme: "key" },
    { authType: "header", headerName: "X-App", scheme: "app" },
  ]);
  expect(togetherOf([{ ...key, with: ["login"] }, login], keyKinds)).toEqual([{ authType: "header", headerName: "X-Key" }]);
  expect(togetherOf([], keyKinds)).toHaveLength(1);
});

test("a key in another header than Authorization has no Bearer before it, unless that was entered", () => {
  const begun: Auth = { authType: "header", headerName: "Authorization", headerPrefix: "Bearer " };
  expect(inHeader(begun, "X-App").headerPrefix).toBe("");
  expect(inHeader(inHeader(begun, "Authorizatio"), "authorization").headerPrefix).toBe("Bearer ");
  expect(inHeader({ ...begun, headerPrefix: "Token " }, "X-App").headerPrefix).toBe("Token ");
  expect(inHeader({ ...begun, headerName: "X-App", headerPrefix: "Token " }, "Authorization").headerPrefix).toBe("Token ");
  expect(inHeader({ authType: "header", headerName: "X-A", headerPrefix: "Bearer " }, "X-B").headerPrefix).toBe("Bearer ");
});

test("several credentials are sent as a list, one as itself", () => {
  const one: Auth = { authType: "header", headerName: "X-Key", apiKey: "a", scheme: "key" };
  expect(bodyOfAll([one])).toEqual({ authType: "header", headerName: "X-Key", apiKey: "a" });
  expect(bodyOfAll([one, { authType: "query", parameterName: "token", apiKey: "b" }])).toEqual({ authType: "list", items: [one, { authType: "query", parameterName: "token", apiKey: "b" }] });
});

test("of several stored credentials, one that gets another name needs its secret again", () => {
  const stored = (headerName: string) => ({ authType: "header", headerName, scheme: headerName }) as const;
  const two = listed([stored("X-Key"), stored("X-App")], [stored("X-Key"), stored("X-App")]);
  expect(missingOfAll(two)).toEqual([[], []]);
  expect(missingOfAll(two.map((one) => ({ ...one, auth: { ...one.auth, headerName: "X-New" } })))).toEqual([["apiKey"], ["apiKey"]]);
  const [one] = listed([{ ...stored("X-Key"), headerName: "X-New" }], [stored("X-Key")]);
  expect(one && missingOfAll([one])).toEqual([[]]);
  expect(bodyOfAll([stored("X-Key")], "X-Key").scheme).toBe("X-Key");
});

test("the scopes of a specification are offered for its login", () => {
  const one = method("one", { authType: "oauth2", grant: "authorization_code", scopes: ["write", "read"] });
  const two = method("two", { authType: "oauth2", grant: "client_credentials", scopes: ["admin", "read"] });
  const key = method("key", { authType: "header", headerName: "X-Key" });
  expect(scopesOf([key, one, two], { authType: "oauth2", grant: "authorization_code" })).toEqual(["admin", "read", "write"]);
  expect(scopesOf([key, one, two], { authType: "oauth2", scheme: "one" })).toEqual(["read", "write"]);
  expect(scopesOf([key], { authType: "oauth2" })).toEqual([]);
});
