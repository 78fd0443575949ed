import { expect, test } from "vitest";
import { complaints, compile, team } from "./support.ts";

/** How a team's file says that somebody or something signs in at an MCP server. */

const serverOf = (more: string, top = "access: { hosts: [agents.example.com] }"): string =>
  team({
    agent: "    permissions: { preset: open }",
    top: `${top}\nmcp_servers:\n  - { name: sea, ${more} }`.trim(),
  }).replace("toolboxes: [filesystem]", "toolboxes: [filesystem, sea]");

const url = "url: https://sea.example/mcp";
const client = "client_id: team";
const secret = 'client_secret: "${SECRET}", issuer: "https://login.example"';
const key = 'private_key: "${KEY_PEM}"';

test("TB-27 CF-28: a deployed team whose people sign in without access.hosts is stopped at the place, with the way out", async () => {
  const found = await complaints(serverOf(`${url}, auth: oauth`, ""));
  expect(found).toEqual([
    [
      "config/acme/team.yaml:11:54 error missing_key mcp_servers[0].auth: auth: oauth needs access.hosts, to whose first host people return after signing in",
      "  write access: { hosts: [agents.example.com] } with this deployment's host",
    ].join("\n"),
  ]);
  expect(await complaints(serverOf(`${url}, auth: oauth`, ""), { isServed: true })).toEqual([]);
});

test("CF-12: keys of a server that do not go together are one mistake each, at their place", async () => {
  const cases: readonly (readonly [string, string])[] = [
    [`${url}, credentials: { ${client} }`, "exclusive_keys mcp_servers[0].credentials"],
    [`${url}, transport: sse, protocol: "2026"`, "exclusive_keys mcp_servers[0].protocol"],
    [`${url}, transport: sse, protocol: "2026", auth: oauth`, "exclusive_keys mcp_servers[0].protocol"],
    [`command: sea, auth: oauth`, "exclusive_keys mcp_servers[0].auth"],
    [
      `${url}, auth: oauth, headers: { authorization: "\${T}" }`,
      "exclusive_keys mcp_servers[0].headers.authorization",
    ],
    [
      `${url}, auth: oauth, credentials: { ${client}, ${secret}, ${key} }`,
      "exclusive_keys mcp_servers[0].credentials.private_key",
    ],
    [`${url}, auth: client_credentials`, "missing_key mcp_servers[0].credentials"],
    [
      `${url}, auth: client_credentials, credentials: { ${client} }`,
      "missing_key mcp_servers[0].credentials.client_secret",
    ],
    [`${url}, auth: oauth, credentials: { ${secret} }`, "missing_key mcp_servers[0].credentials.client_id"],
    [
      `${url}, auth: client_credentials, credentials: { ${client}, client_secret: abcdefgh, issuer: x }`,
      "secret_in_file mcp_servers[0].credentials.client_secret",
    ],
  ];
  for (const [more, expected] of cases) {
    const found = (await complaints(serverOf(more))).filter((line) => line.includes(" error "));
    expect(found, more).toHaveLength(1);
    expect(found[0], more).toContain(expected);
  }
});

test("CF-12: a server's client is a connection: its secrets are needed, and it is no part of the revision", async () => {
  const yaml = (more: string) =>
    serverOf(`${url}, auth: client_credentials, credentials: { ${client}, ${more} }`);
  const [one, other] = [await compile(yaml(secret)), await compile(yaml(key))];
  expect(Object.keys(one.secrets)).toContain("SECRET");
  expect(one.team?.revision).toBe(other.team?.revision);
});

test("TB-27: tokens need an https address; on this machine the deployment decides", async () => {
  const plain = serverOf("url: http://sea.example/mcp, auth: oauth");
  const [refused = "", ...others] = await complaints(plain);
  expect(refused).toContain("error invalid_value mcp_servers[0].url: auth: oauth sends tokens");
  expect(refused).toContain("write the https address");
  expect(others).toEqual([]);
  expect(await complaints(plain, { isServed: true })).toEqual([]);
  expect(await complaints(serverOf("url: http://sea.example/mcp"))).toEqual([]);
});
