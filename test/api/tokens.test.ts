import { expect, test } from "vitest";
import { keyIdOf } from "../../src/engine/access/keys.ts";
import { adminKey, anId, origin, problemOf, setUp } from "./harness.ts";

/** Browser tokens, as their callers mint them. */

const S = `/v1/sessions/${anId()}`;

test("AP-13: a token for an origin that may not call is refused, with the field and the way out", async () => {
  const ours = { origins: ["https://app.example.com"], hosts: ["agents.example.com"] };
  const { call, session } = setUp({ access: ours });
  await session(anId());
  const mint = (bound: string) => call("POST", `${S}/tokens`, { origin: bound });
  for (const bound of ["https://app.example.com", "https://agents.example.com", origin])
    expect((await mint(bound)).status, bound).toBe(201);
  for (const bound of ["https://app.example.org", "http://localhost:5173"]) {
    const message = `no page of ${bound} may call here: add it to access.origins in the team file and deploy, or leave it out`;
    expect(await problemOf(await mint(bound)), bound).toMatchObject({
      code: "invalid_request",
      detail: `/origin: ${message}`,
      errors: [{ pointer: "/origin", code: "origin_not_allowed", message }],
    });
  }
  const development = setUp({ access: ours, env: { LIMPET_ADMIN_KEY: adminKey, LIMPET_DEV: "1" } });
  await development.session(anId());
  const minted = await development.call("POST", `${S}/tokens`, { origin: "http://localhost:5173" });
  expect(minted.status).toBe(201);
});

test("AP-13 AP-6: a repeated mint answers as before, whatever a deploy has changed since", async () => {
  const body = { origin: "https://app.example.com" };
  const first = setUp({ access: { origins: ["https://app.example.com"], token_ttl: "10m" } });
  await first.session(anId());
  const mint = (call: typeof first.call) => call("POST", `${S}/tokens`, body, { "Idempotency-Key": "mint" });
  const minted = await mint(first.call);
  expect(minted.status).toBe(201);
  const later = setUp({ access: { origins: [], token_ttl: "20m" }, store: first });
  await later.session(anId());
  const again = await mint(later.call);
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
  expect(await again.text()).toBe(await minted.text());
});

test("AP-6: one key on two addresses of keys or tokens is two commands", async () => {
  const { call, session, key } = setUp();
  const keyed = (method: string, path: string, body?: unknown) =>
    call(method, path, body, { "Idempotency-Key": "again" });
  for (const letter of ["a", "b"]) {
    await session(anId(letter));
    expect((await keyed("POST", `/v1/sessions/${anId(letter)}/tokens`, {})).status).toBe(201);
    const made = await key({ scopes: ["usage:read"] });
    const path = `/v1/keys/${keyIdOf(made)}`;
    expect((await keyed("PATCH", path, { name: "a" })).status).toBe(200);
    const ends = [await keyed("DELETE", path), await keyed("DELETE", path)];
    expect(ends.map(({ status }) => status)).toEqual([204, 204]);
    expect((await call("GET", path)).status).toBe(404);
  }
});
