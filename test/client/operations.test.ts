import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { routes as served } from "../../src/api/routes.ts";
import { printOperations } from "../../src/cli/build-client/operations.ts";
import { routes } from "../../src/client/routes.ts";

/** The client's table of operations against the server's. */

const folder = resolve(import.meta.dirname, "../../src/client");

test.each(Object.entries(printOperations()))(
  "AP-51: %s is what `npm run build` writes today",
  (name, text) => {
    expect(readFileSync(join(folder, name), "utf8")).toBe(text);
  },
);

/** Routes of streams, of bytes, of pages for people, and second names of others. */
const others = [
  "GET /healthz",
  "GET /readyz",
  "GET /v1/oauth/callback",
  "GET /v1/openapi.json",
  "GET /v1/asyncapi.json",
  "POST /v1/sessions/:session",
  "POST /v1/sessions/:session/respond",
  "GET /v1/sessions/:session/ws",
  "GET /v1/sessions/:session/workspace/:path",
  "PUT /v1/sessions/:session/workspace/:path",
  "PUT /v1/sessions/:session/workspace",
  "POST /v1/sessions/:session/files",
  "GET /v1/sessions/:session/files/:file",
];

test("AP-51: `call` knows every route that answers with JSON, and no other", () => {
  const known = new Set<string>(Object.values(routes));
  const all = served.map(({ method, path }) => `${method} ${path.replace(/\{.*?\}/g, "")}`);
  const isPage = (route: string): boolean => !route.includes("/v1/") && !others.includes(route);
  expect(all.filter((route) => !known.has(route) && !others.includes(route) && !isPage(route))).toEqual([]);
  expect([...known].filter((route) => !all.includes(route))).toEqual([]);
});
