import { expect, test } from "vitest";
import { serverToolName } from "../../src/toolboxes/mcp/names.ts";
import { complaints, team } from "./support.ts";

const rules = (...lines: readonly string[]): Promise<string[]> =>
  complaints(
    team({
      top: ["permissions:", "  rules:", ...lines.map((line) => `    - { ${line}, action: deny }`)].join("\n"),
    }),
  );

test("TB-7: a pattern of addresses that could never match is an error, which says how to write it", async () => {
  for (const [match, written] of [
    ["evil.example.com", "https://evil.example.com/**"],
    ["https://evil.example.com", "https://evil.example.com/**"],
    ["https://Evil.Example.com./a", "https://evil.example.com/a"],
    ["https://x.com*", "https://x.com*/**"],
    ["*", "https://*/**"],
    ["https://*.Example.org:8443/**", "https://*.example.org:8443/**"],
    ["https://bücher.example/**", "https://xn--bcher-kva.example/**"],
    ["https://*.bücher.example/é/**", "https://*.xn--bcher-kva.example/%C3%A9/**"],
    ["https://a.example/%c3%a9/%41", "https://a.example/%C3%A9/A"],
    ["ftp://a.example/**", "https://a.example/**"],
    ["https://[2606:4700::1]/**", String.raw`https://\[2606:4700::1\]/**`],
  ] as const)
    for (const about of ["act: egress", "tool: http_fetch"])
      expect(await rules(`${about}, match: '${match}'`), match).toEqual([
        expect.stringContaining(`so this never matches\n  write it like ${written}`),
      ]);
  expect(
    await rules(
      ...[
        "**",
        "**/private",
        "http://a.example/",
        "*://a.example/**",
        "https://a.example:443/**",
        "https://*.a.example/?/[a-z]*",
        String.raw`https://\[2606:4700::1\]/**`,
      ].map((match) => `act: egress, match: '${match}'`),
    ),
  ).toEqual([]);
});

test("TB-7 CF-25: a pattern that fits no tool of the team is warned of, unless a server's tools may fit it", async () => {
  expect(
    await rules("tool: 'shell_*'", "tool: '[e]xec_*'", "tool: 'github__*'", "tool: pick_a_color"),
  ).toEqual([
    'config/acme/team.yaml:11:15 warning key_ignored permissions.rules[0].tool: no tool of this team fits "shell_*"\n  name tools as npx limpet explain --kinds lists them; only a tool that a client brings could fit',
  ]);
  const servers = "mcp_servers:\n  - { name: github, url: https://mcp.example/mcp }";
  const rule = "permissions: { rules: [{ tool: 'git?ub*', action: deny }] }";
  expect(await complaints(team({ top: `${servers}\n${rule}` }).replace("[filesystem]", "[github]"))).toEqual(
    [],
  );
});

test("TB-7 TB-22 CF-25: a server's tool under a name that models do not see binds nothing, and the right name is told", async () => {
  const long = "a".repeat(60);
  const servers = "mcp_servers:\n  - { name: sea, url: https://mcp.example/mcp }\n";
  const saidOf = async (name: string) => {
    const at = `"${name}"`;
    const lines = await complaints(
      team({
        top: `${servers}permissions: { rules: [{ tool: ${at}, action: deny }] }`,
        agent: `    effects: [{ kind: tool_scope, params: { exclude: [${at}] } }]\n    options: { on_interrupt: { ${at}: ask } }`,
      }).replace("[filesystem]", "[sea]"),
    );
    return lines.map((line) => [/error unknown_tool (\S+?)[.:]/.exec(line)?.[1], line.split("write ")[1]]);
  };
  for (const [name, seen] of [
    ["sea__two.b", "sea__two_b"],
    ["sea__two.*", "sea__two_*"],
    [`sea__${long}`, serverToolName("sea", long)],
  ] as const)
    expect(await saidOf(name)).toEqual([
      ["agents[0]", seen],
      ["agents[0]", seen],
      ["permissions", seen],
    ]);
  for (const name of ["sea__two_b", "sea__*[a-z]", "other__two.b"]) expect(await saidOf(name)).toEqual([]);
});

test("EF-40 CF-25: a scope that hides or shows a tool that is not there is warned of", async () => {
  const scope = "{ kind: tool_scope, params: { exclude: [exec_rn], include: ['fs_*', github__x] } }";
  expect(await complaints(team({ agent: `    effects: [${scope}]` }))).toEqual([
    expect.stringContaining(
      'key_ignored agents[0].effects[0].params.exclude[0]: no tool of this team fits "exec_rn"',
    ),
  ]);
});

test("CF-12 TB-22: the name of an MCP server stays apart from those of its tools, also where these are cut", async () => {
  const named = async (name: string) =>
    (
      await complaints(team({ top: `mcp_servers: [{ name: ${name}, url: 'https://a.example/mcp' }]` }))
    ).filter((line) => line.includes("invalid_value")).length;
  expect(await Promise.all(["a_b", "n".repeat(52), "a_", "n".repeat(53)].map(named))).toEqual([0, 0, 1, 1]);
});
