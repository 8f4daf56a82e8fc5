import { expect, test } from "vitest";
import type { Schemas } from "./api";
import { credentialState } from "./credential";

type Connector = Parameters<typeof credentialState>[0][number];

const asked = [{ id: "key" }] as unknown as Connector["authenticationMethods"];
const connector = (authentication?: Partial<Schemas["Authentication"]>, authenticationMethods: Connector["authenticationMethods"] = []): Connector => ({
  authentication: authentication as Connector["authentication"],
  authenticationMethods,
});

test("the worst state of the credentials is shown, and a key that is set is not none", () => {
  expect(credentialState([connector()])).toBe("none");
  expect(credentialState([connector({ authType: "none" }, asked)])).toBe("none");
  expect(credentialState([connector(undefined, asked)])).toBe("missing");
  expect(credentialState([connector({ authType: "header" }, asked)])).toBe("set");
  expect(credentialState([connector({ authType: "oauth2", state: "ok" }, asked)])).toBe("ok");
  expect(credentialState([connector({ authType: "oauth2", state: "ok" }), connector(undefined, asked)])).toBe("missing");
  expect(credentialState([connector({ authType: "bearer" }), connector({ authType: "oidc", state: "expired" })])).toBe("expired");
  const items = [{ authType: "bearer" }, { authType: "oauth2", state: "failing" }] as unknown as Schemas["Authentication"]["items"];
  expect(credentialState([connector({ authType: "list", items })])).toBe("failing");
});
