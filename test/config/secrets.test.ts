import { expect, test } from "vitest";
import { importTeam } from "../../src/config/build/import-team.ts";
import { compile, complaints, team } from "./support.ts";

/** Secrets and references in the fields that expand them (CF-19, CF-20). */

const errorsOf = async (yaml: string): Promise<readonly string[]> =>
  (await compile(yaml)).diagnostics
    .filter(({ severity, code }) => severity === "error" && code !== "not_available")
    .map(({ code, path }) => `${code} ${path}`);

const servers = (more: string): string =>
  team({ top: `mcp_servers:\n  - { name: far, url: "https://h.example/mcp", ${more} }` });

test("CF-20: a literal key, and a header that carries one, stops the build; other headers may be literal", async () => {
  for (const name of ["Authorization", "x-api-key", "Set-Cookie2", "X-Token", "Client-Secret"]) {
    const header = `headers: { ${name}: abc }`;
    expect(await errorsOf(team({ provider: `    ${header}` }))).toEqual([
      `secret_in_file providers[0].headers.${name}`,
    ]);
    expect(await errorsOf(servers(header))).toEqual([`secret_in_file mcp_servers[0].headers.${name}`]);
    expect(
      await errorsOf(team({ top: `http: { headers: { "https://a.example": { ${name}: abc } } }` })),
    ).toEqual([`secret_in_file http.headers["https://a.example"].${name}`]);
    const sandbox = `sandbox: { credentials: [{ host: a.example, ${header} }] }`;
    expect(await errorsOf(team({ top: sandbox }))).toEqual([
      `secret_in_file sandbox.credentials[0].headers.${name}`,
    ]);
  }
  const plain = team({
    provider: "    headers: { Authorization: 'Bearer ${KEY}', X-Team: acme, Accept: '*/*' }",
  });
  expect(await errorsOf(plain)).toEqual([]);
});

test("CF-20: the way out names a reference of its own for each secret, and never the secret", async () => {
  const yaml = team({
    provider: [
      "    headers: { X-Gateway-Key: canary-2 }",
      "  - { name: spare, kind: anthropic, api_key: canary-3, model: claude-sonnet-5-5 }",
      "  - { name: own, kind: openai-compatible, base_url: 'https://a.example', api_key: canary-4, model: m }",
    ].join("\n"),
    agent: "    fallbacks: [spare, own]",
    top: "webhooks: [{ name: hook, url: 'https://a.example', events: [run_end], secret: canary-5 }]",
  }).replace("${KEY}", "canary-1");
  const said = (await complaints(yaml)).filter((line) => line.includes("secret_in_file"));
  expect(said.map((line) => /write \$\{(\w+)\} and set it: (.*?)(;|$)/.exec(line)?.slice(1, 3))).toEqual(
    ["MAIN_API_KEY", "MAIN_X_GATEWAY_KEY", "SPARE_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "HOOK_SECRET"].map(
      (name) => [name, `wrangler secret put ${name} --env acme`],
    ),
  );
  expect(said.map((line) => line.includes("allow_literal_secrets"))).toEqual([true, true, true, true, false]);
  expect(said.join("\n")).not.toContain("canary");
});

test("CF-20: allow_literal_secrets lets those of its own provider or MCP server pass, and no others", async () => {
  const own = "    allow_literal_secrets: true\n    headers: { X-Key: abc }";
  const other = "  - { name: spare, kind: openai, api_key: abc, model: gpt-6.1-sol }";
  expect(await errorsOf(team({ provider: own }).replace("${KEY}", "sk-1"))).toEqual([]);
  expect(await errorsOf(team({ provider: `${own}\n${other}` }).replace("${KEY}", "sk-1"))).toEqual([
    "secret_in_file providers[1].api_key",
  ]);
  expect(await errorsOf(servers("allow_literal_secrets: true, headers: { Authorization: abc }"))).toEqual([]);
});

test("CF-19: $NAME in capitals where references are expanded is an error, elsewhere it is text", async () => {
  for (const [field, meant] of [
    ["base_url: 'https://$HOST_2/v1'", "base_url"],
    ["headers: { X-Team: 'a $TEAM b' }", "headers.X-Team"],
  ])
    expect(await errorsOf(team({ provider: `    ${field}` }))).toEqual([
      `invalid_reference providers[0].${meant}`,
    ]);
  expect(await errorsOf(servers("headers: { Authorization: Bearer $TOKEN }"))).toEqual([
    "invalid_reference mcp_servers[0].headers.Authorization",
  ]);
  expect(await errorsOf(team({ provider: "    headers: { X-Team: '$5 $$ $Team $team $$TEAM' }" }))).toEqual(
    [],
  );
  expect(await complaints(team({ agent: "    instructions: Use $KEY." }))).toEqual([]);
});

test("CF-20 CF-37: two secrets never get one name", () => {
  const { content } = importTeam(
    `providers:
  - { name: main, kind: anthropic, model: claude-sonnet-5-5, api_key: sk-a-AAAA }
  - { name: anthropic, kind: openai-compatible, base_url: "https://a.example/v1", model: m, api_key: sk-b-BBBB, headers: { X-Api-Key: hhhh1111, X_Api_Key: hhhh2222 } }
  - { name: other, kind: openai-compatible, base_url: "https://b.example/v1", model: m, api_key: sk-c-CCCC }
agents:
  - { name: guide }
`,
    "acme",
  );
  const names = [...content.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
  expect(names).toHaveLength(5);
  expect(new Set(names).size).toBe(5);
});

const gateway = (reference: string): string => `providers:
  - { name: main, kind: openai, model: gpt-6.1-sol, api_key: "sk-a" }
  - { name: gate, kind: openai-compatible, base_url: "https://gate.example/v1", model: m, api_key: "${reference}" }
agents:
  - { name: guide, fallbacks: [gate] }
`;

test("CF-20 CF-37: a literal secret never gets a name that something else in the file refers to", async () => {
  for (const reference of ["${OPENAI_API_KEY}", "$OPENAI_API_KEY"]) {
    const { content } = importTeam(gateway(reference), "acme");
    expect([...content.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)).toEqual([
      "OPENAI_API_KEY_2",
      "OPENAI_API_KEY",
    ]);
    const said = (await complaints(gateway(reference))).filter((line) => line.includes("secret_in_file"));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("write ${OPENAI_API_KEY_2} and set it: wrangler secret put OPENAI_API_KEY_2");
  }
});

test("CF-20: a secret of which only a part stands in the file is refused like a whole one", async () => {
  const withKey = (key: string, more = ""): string =>
    team({ provider: `    headers: { X-Team: acme }${more}` }).replace("${KEY}", key);
  for (const key of ["sk-abc${X}", "${X}-abc", "${X}.abc${Y}", "Bearer sk-abc${X}"]) {
    expect([key, await errorsOf(withKey(key))]).toEqual([key, ["secret_in_file providers[0].api_key"]]);
    expect([key, await errorsOf(withKey(key, "\n    allow_literal_secrets: true"))]).toEqual([key, []]);
    expect([key, await errorsOf(servers(`headers: { X-Token: '${key}' }`))]).toEqual([
      key,
      ["secret_in_file mcp_servers[0].headers.X-Token"],
    ]);
  }
  for (const key of [
    "${X}",
    "${X}${Y}",
    "${X}-${Y}",
    "a/${X}",
    "Bearer ${X}",
    "user:${X}",
    "session=${X}; theme=dark",
  ])
    expect([key, await errorsOf(servers(`headers: { X-Token: '${key}' }`))]).toEqual([key, []]);
});

test("CF-37: $NAME in a key is taken over in any case, and a key with $NAME inside it is one secret", async () => {
  const taken = (key: string) => {
    const { content, changes } = importTeam(gateway("${GATE}").replace("sk-a", key), "acme");
    return [/api_key: "?([^ "]*)/.exec(content)?.[1], ...changes];
  };
  expect(taken("$OWN_KEY")).toEqual(["${OWN_KEY}", "providers[0].api_key: $OWN_KEY is now ${OWN_KEY}"]);
  expect(taken("$own_key")).toEqual([
    "${own_key}",
    "providers[0].api_key: $own_key is now ${own_key}; set it with: npx wrangler secret put own_key --env acme",
  ]);
  const said = (await complaints(gateway("${GATE}").replace("sk-a", "$own_key"))).join("\n");
  expect(said).toContain("write ${own_key} and set it: wrangler secret put own_key --env acme");
  for (const key of ["sk-abc$DEF", "sk-abc${DEF}", "sk-abc$def"])
    expect(taken(key)).toEqual([
      "${OPENAI_API_KEY}",
      "providers[0].api_key: the secret is now ${OPENAI_API_KEY}; set it with: npx wrangler secret put OPENAI_API_KEY --env acme",
    ]);
});
