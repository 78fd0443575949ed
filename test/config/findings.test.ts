import * as z from "zod";
import { expect, test } from "vitest";
import { defineTool } from "../../src/tools/define-tool.ts";
import { compile, complaints, team } from "./support.ts";

/** All findings are reported, each at its own place and none that only follows from another (CF-25, CF-28). */

const said = async (...given: Parameters<typeof complaints>): Promise<string[]> =>
  (await complaints(...given)).map(
    (line) => line.replace("config/acme/", "").split(" error ")[1]?.split("\n")[0] ?? line,
  );

test("CF-25: keys that are indented like the lines of the instructions are told, and a list of the text's own is not", async () => {
  const guide = (...lines: readonly string[]) =>
    complaints(team({ agent: ["    instructions: |", ...lines].join("\n") }));
  expect(
    await guide("      Help.", "      options:", "        max_iterations: 3", "      skills: [a]"),
  ).toEqual([
    "config/acme/team.yaml:9:19 warning key_ignored agents[0].instructions: the text ends with the key options\n" +
      "  a key of the agent begins in the same column as instructions",
  ]);
  expect(await guide("      options: help.", "      And more.", "      notes: none")).toEqual([]);
});

test("CF-25: items of a list that have no blank behind their dash are told so, once", async () => {
  const hint = "\n  put a space after the dash of each item: -";
  const shared = 'providers:\n  - { name: p, kind: anthropic, model: m, api_key: "${KEY}" }\n';
  expect(await complaints(`${shared}agents:\n  -name: a\n  -name: b\n`)).toEqual([
    `config/acme/team.yaml:4:3 error wrong_type agents: expected a list, found a map${hint} name`,
  ]);
  expect(await complaints(team().replace(/toolboxes: .*/, "toolboxes:\n      -files"))).toEqual([
    `config/acme/team.yaml:9:7 error wrong_type agents[0].toolboxes: expected a list, found a text${hint} files`,
  ]);
});

test("CF-25 ★ CF-28: every missing key of a map is reported, though all share its first key", async () => {
  expect(
    await said(team().replace("  - name: main\n    kind: anthropic\n", "  - kind: anthropic\n")),
  ).toContain('missing_key providers[0].name: "name" is required here');
  const bare = team().replace("    kind: anthropic\n", "").replace("    model: claude-sonnet-5-5\n", "");
  expect(await said(bare)).toEqual([
    'missing_key providers[0].kind: "kind" is required here',
    'missing_key providers[0].model: "model" is required here',
  ]);
  expect(await said("entry_agent: guide\n")).toEqual(
    expect.arrayContaining([
      'missing_key agents: "agents" is required here',
      'missing_key providers: "providers" is required here',
    ]),
  );
});

test("CF-25 ★: everything wrong in extensions.ts is reported, though all of it has one place", async () => {
  const tool = (name: string) =>
    defineTool({ name, description: "Own.", params: z.strictObject({}), run: () => ({ content: "" }) });
  const tools = [tool("fs_read"), tool("fs_write")];
  const own = [{ name: "own", description: "", tools }];
  expect(await said(team(), { extensions: { exports: { toolboxes: own } } })).toEqual([
    'name_conflict toolboxes[0].tools[0]: "fs_read" is a built-in tool',
    'name_conflict toolboxes[0].tools[1]: "fs_write" is a built-in tool',
  ]);
  const exports = { toolboxes: [5, 6], effects: [5, { kind: "x" }], agents: [{ name: "a", toolbox: 1 }, 7] };
  expect((await said(team(), { extensions: { exports } })).map((line) => line.split(":")[0])).toEqual([
    "extension_invalid toolboxes[0]",
    "extension_invalid toolboxes[1]",
    "extension_invalid effects[0]",
    "extension_invalid effects[1]",
    "extension_invalid agents[1]",
    "unknown_key agents[1].toolbox",
  ]);
});

test("CF-25 ★: a script's piece tells its unknown key and the missing one", async () => {
  const script = "script: 1\nreplies:\n  - reply: [{ txt: a }]\n";
  const scripted = team().replace("kind: anthropic", "kind: scripted\n    script: scripts/a.yaml");
  const found = await said({ "team.yaml": scripted, "scripts/a.yaml": script });
  expect(found).toContain('script_invalid replies[0].reply[0].txt: unknown key "txt"');
  expect(found.some((line) => line.includes("is required here"))).toBe(true);
});

test("CF-28: a value merged into several agents, by defaults or by an anchor, is one mistake", async () => {
  const two = "  - name: scout\n  - name: sage";
  const plain = "openai-compatible\n    base_url: https://a.example";
  for (const options of ["max_iterations: -1", "context_window: 15000", "maxiterations: 3"]) {
    const yaml = team({ agent: two, top: `defaults: { options: { ${options} } }` });
    expect([options, await said(yaml.replace("anthropic", plain).replace("claude-sonnet-5-5", "m"))]).toEqual(
      [options, [expect.any(String)]],
    );
  }
  const anchor = team({
    agent: "    effects: [&e { kind: compcat }, *e]\n  - { name: scout, effects: [*e] }",
  });
  expect(await said(anchor)).toHaveLength(1);
});

const scripted = (script: string, more = ""): string =>
  team({ provider: more }).replace("kind: anthropic", `kind: scripted\n    script: ${script}`);

test("CF-25 CF-28: what seems to be missing after a mistake of shape is not reported beside it", async () => {
  const file = "script: 1\nstart: tides\nscenes:\n  - { nam: tides, reply: [] }\n";
  expect(await said({ "team.yaml": scripted("scripts/a.yaml"), "scripts/a.yaml": file })).toEqual([
    'script_invalid scenes[0].name: "name" is required here',
    'script_invalid scenes[0].nam: unknown key "nam"',
  ]);
  for (const inline of [
    "{ script: 1, replis: [] }",
    "{ script: 1, scenes: [{ reply: [] }] }",
    "{ script: 2 }",
  ]) {
    expect([inline, await said(scripted(inline))]).toEqual([
      inline,
      [expect.stringContaining("script_invalid")],
    ]);
  }
  const options = "context_compaction: auto, compaction_threshold: half";
  expect(await said(team({ agent: `    options: { ${options} }` }))).toEqual([
    "wrong_type agents[0].options.compaction_threshold: expected a number, found a text",
  ]);
  const notes = team({ agent: "    effects: [{ kind: progress }]" }).replace(
    "[filesystem]",
    "[filesystem, { name: notes, tols: [] }]",
  );
  expect(await said(notes)).toEqual(['unknown_key agents[0].toolboxes[1].tols: unknown key "tols"']);
});

test("CF-25 ★: a wrong entry hides nothing in the rest of its list, and places stay those of the file", async () => {
  const agent = "    effects: [5, { kind: loop_detect, params: { threshold: 9, window_size: 3 } }]";
  const yaml = team({ agent }).replace("[filesystem]", "[5, serch, 6, { name: filesystm }]");
  expect((await complaints(yaml)).map((line) => line.replace("config/acme/", "").split(": ")[0])).toEqual([
    "team.yaml:8:17 error wrong_type agents[0].toolboxes[0]",
    "team.yaml:8:20 error unknown_toolbox agents[0].toolboxes[1]",
    "team.yaml:8:27 error wrong_type agents[0].toolboxes[2]",
    "team.yaml:8:38 error unknown_toolbox agents[0].toolboxes[3].name",
    "team.yaml:9:15 error wrong_type agents[0].effects[0]",
    "team.yaml:9:60 error threshold_unreachable agents[0].effects[1].params.threshold",
  ]);
  const script = "script: 1\nreplies:\n  - 5\n  - reply: [{ txt: a }, { call: fs_wriet }]\n";
  expect(
    (await said({ "team.yaml": scripted("scripts/a.yaml"), "scripts/a.yaml": script })).map(
      (line) => line.split(":")[0],
    ),
  ).toEqual(
    expect.arrayContaining([
      "script_invalid replies[0]",
      "script_invalid replies[1].reply[0].txt",
      "script_invalid replies[1].reply[1].call",
    ]),
  );
});

test("CF-25: the other entries of a list of sections are checked, at their own places", async () => {
  const hooks =
    "webhooks: [5, { name: a, url: 'https://a.example', secret: x, events: [run_end] }, { name: a, url: 'https://b.example', secret: '${A B}' }]";
  expect(
    (await complaints(team({ top: hooks }))).map((line) => line.split(" ").slice(1, 4).join(" ")),
  ).toEqual(
    expect.arrayContaining([
      "error wrong_type webhooks[0]:",
      "error secret_in_file webhooks[1].secret:",
      "error duplicate_name webhooks[2].name:",
      "error invalid_reference webhooks[2].secret:",
    ]),
  );
});

test("TB-19 CF-20: headers are bound to origins, and secrets in them stand in no file", async () => {
  const headers =
    "http: { headers: { 'https://a.example/v1': {}, a.example: {}, 'https://b.example': { X-Api-Key: abc, Accept: b, Authorization: 'Bearer ${B}' } } }";
  expect((await complaints(team({ top: headers }))).map((line) => line.split("\n")[0])).toEqual([
    'config/acme/team.yaml:9:20 error invalid_url http.headers["https://a.example/v1"]: write an origin like https://api.example.com, without path',
    'config/acme/team.yaml:9:48 error invalid_url http.headers["a.example"]: write an origin like https://api.example.com, without path',
    'config/acme/team.yaml:9:97 error secret_in_file http.headers["https://b.example"].X-Api-Key: a secret must not be written in a file',
  ]);
});

test("CF-25: a toolbox like no other is told with where toolboxes of a team's own come from", async () => {
  const [said = ""] = await complaints(team().replace("[filesystem]", "[sea]"));
  expect(said).toMatch(
    /no toolbox "sea"\n {2}known: ask, .*; toolboxes of your own are what extensions\.ts exports as toolboxes$/,
  );
});

test("CF-14: a compaction_threshold that nothing uses is said to be ignored", async () => {
  const threshold = "options: { compaction_threshold: 0.5 }";
  expect(await complaints(team({ agent: `    ${threshold}` }))).toEqual([
    "config/acme/team.yaml:9:16 warning key_ignored agents[0].options.compaction_threshold: " +
      "it has an effect only with context_compaction: auto\n  add context_compaction: auto, or remove it",
  ]);
  expect(
    await complaints(team({ top: `defaults: { ${threshold} }`, agent: "  - name: scout" })),
  ).toHaveLength(1);
  const auto = "  - name: scout\n    options: { context_compaction: auto }";
  expect(await complaints(team({ top: `defaults: { ${threshold} }`, agent: auto }))).toEqual([]);
  const typo = "    options: { compaction_threshold: 0.5, context_compaction: atuo }";
  expect(await complaints(team({ agent: typo }))).toEqual([expect.stringContaining("invalid_value")]);
});

test("CF-25: an option that does nothing is reported where it is written, not where defaults serve another agent", async () => {
  const codes = async (...given: Parameters<typeof complaints>): Promise<string[]> =>
    (await complaints(...given)).map((line) => line.split(" warning ")[1]?.split(":")[0] ?? line);
  const inherited =
    "defaults: { options: { verify_command: npm test, localize: true, verify_after_edit: true } }";
  const agents = "  - { name: talker, toolboxes: [notes] }";
  expect(await codes(team({ agent: agents, top: inherited }))).toEqual([]);
  expect(await codes(team({ agent: agents, top: inherited }).replace("[filesystem]", "[ask]"))).toEqual([
    "key_ignored agents[0].options.localize",
    "verify_inert agents[0].options.verify_after_edit",
  ]);
  const own = "  - { name: talker, toolboxes: [notes], options: { verify_after_edit: true } }";
  expect(await codes(team({ agent: own, top: inherited }))).toEqual([
    "verify_inert agents[1].options.verify_after_edit",
  ]);
});

test("CF-25: what an agent can do with files is told by its tools, and a toolbox of others may do anything", async () => {
  const said = async (boxes: string, more: { agent?: string; top?: string } = {}, options = {}) => {
    const both = "    options: { verify_after_edit: true, localize: true, max_delegation_depth: 1 }";
    const yaml = team({ ...more, agent: `${both}${more.agent ?? ""}` }).replace("[filesystem]", boxes);
    const found = await complaints(yaml, options);
    return found.flatMap((line) => /options\.(verify_after_edit|localize)/.exec(line)?.[1] ?? []);
  };
  expect(await said("[notes]")).toEqual(["verify_after_edit", "localize"]);
  expect(await said("[{ name: filesystem, tools: [fs_read] }]")).toEqual(["verify_after_edit"]);
  expect(await said("[exec, search]")).toEqual(["verify_after_edit"]);
  expect(await said("[{ name: filesystem, tools: [fs_delete] }]")).toEqual([]);
  expect(await said("[notes]", { agent: "\n  - name: helper" })).toEqual(["verify_after_edit"]);
  expect(await said("[far]", { top: "mcp_servers: [{ name: far, url: 'https://h.example/mcp' }]" })).toEqual(
    [],
  );
  const tool = defineTool({
    name: "own_edit",
    description: "Own.",
    params: z.strictObject({}),
    run: () => ({ content: "" }),
  });
  const toolboxes = [{ name: "own", description: "", tools: [tool] }];
  expect(await said("[own]", {}, { extensions: { exports: { toolboxes } } })).toEqual([]);
});

test("CF-25 AG-37: a guardrail that no answer can pass is an error at its place", async () => {
  const guardrail = (params: string): string =>
    team({ agent: `    middleware: [{ kind: output_guardrail, params: { ${params} } }]` });
  expect(await said(guardrail("min_length: 20, max_length: 10"))).toEqual([
    "out_of_range agents[0].middleware[0].params.min_length: no text has at most 10 characters and at least 20",
  ]);
  for (const params of ["min_length: 10, max_length: 10", "min_length: 20", "max_length: 10"])
    expect(await said(guardrail(params))).toEqual([]);
});

test("CF-25: a text where a map is wanted is told with the keys that the map has", async () => {
  const script = "script: 1\nscenes:\n  - { name: a, when: { input: tide }, reply: [{ text: hi }] }\n";
  expect(await said({ "team.yaml": scripted("scripts/a.yaml"), "scripts/a.yaml": script })).toEqual([
    "script_invalid scenes[0].when.input: expected a map, found a text",
  ]);
  const [told] = await complaints({ "team.yaml": scripted("scripts/a.yaml"), "scripts/a.yaml": script });
  expect(told).toMatch(/\n {2}the map has the keys equals, starts_with, contains, words$/);
});

const rules = (...given: readonly string[]): string =>
  team({ top: ["permissions:", "  rules:", ...given.map((rule) => `    - ${rule}`)].join("\n") });

test("★ TB-9 CF-25: a pattern that only looks like a rule is refused: it would close nothing", async () => {
  for (const [rule, why] of [
    ['{ act: write, match: "src/**/*.{ts,js}", action: deny }', "match: braces have no meaning in a pattern"],
    ['{ tool: "fs_{write,edit}", action: deny }', "tool: braces have no meaning in a pattern"],
    [
      '{ act: egress, match: "https://{a,b}.example.com/**", action: deny }',
      "match: braces have no meaning in a pattern",
    ],
    ['{ tool: "fs_[we", action: deny }', "tool: the bracket is not closed"],
    ['{ act: read, match: "src/[a-", action: deny }', "match: the bracket is not closed"],
    [
      '{ act: write, match: "!src/**", action: deny }',
      "match: a pattern names what it is about; a ! before it has no meaning",
    ],
  ] as const)
    expect(await said(rules(rule)), rule).toContain(`invalid_value permissions.rules[0].${why}`);
  for (const rule of [
    '{ act: write, match: "src/[ab]/\\\\{x\\\\}.ts", action: deny }',
    '{ act: exec, match: "echo {a,b}", action: deny }',
  ])
    expect((await said(rules(rule))).join("\n"), rule).not.toContain("invalid_value");
});

test("★ TB-8 CF-25: the day on which a rule ends is a date of the calendar and nothing that only resembles one", async () => {
  const ending = (expires: string): string => rules(`{ tool: fs_write, action: deny, expires: ${expires} }`);
  for (const given of ['"rule 1"', '"5"', "tomorrow 3", "2026-02-30", "01.02.2027", '"2027-01-31T18:00:00"'])
    expect(await said(ending(given)), given).toEqual([
      "invalid_value permissions.rules[0].expires: write a date like 2027-01-31, or a time like 2027-01-31T18:00:00Z",
    ]);
  for (const given of ["2028-02-29", '"2027-01-31T18:00:00Z"', '"2027-01-31T18:00:00+02:00"'])
    expect((await said(ending(given))).join(), given).not.toContain("expires");
});

test("★ CF-25: the schema of a guardrail is checked like that of the answer", async () => {
  const agent = "    middleware: [{ kind: output_guardrail, params: { schema: { type: objekt } } }]";
  expect((await said(team({ agent })))[0]).toMatch(
    /^invalid_schema agents\[0\]\.middleware\[0\]\.params\.schema: this JSON Schema cannot be used: /,
  );
  expect(await said(team({ agent: agent.replace("objekt", "object") }))).toEqual([]);
});

test("CF-25: headers of MCP servers and of http_fetch are checked like those of providers", async () => {
  const server = (headers: string): string =>
    team({ top: `mcp_servers: [{ name: lib, url: "https://mcp.example.com/mcp", headers: ${headers} }]` });
  const api = (headers: string): string =>
    team({ top: `http: { headers: { "https://api.example.com": ${headers} } }` });
  const own = (headers: string): string => team({ provider: `    headers: ${headers}` });
  for (const place of [server, api, own]) {
    expect((await said(place('{ "X Bad": "1" }'))).join()).toContain("this is no header name");
    expect((await said(place('{ Host: "example.com" }'))).join()).toContain("cannot be set here");
    for (const value of ["line\\nbreak", "日本"])
      expect((await said(place(`{ X-Ok: "${value}" }`))).join()).toContain("a header has no line breaks");
    expect((await said(place('{ X-Ok: "Müller" }'))).join()).not.toContain("header");
  }
});

test("★ CF-11: no sentence about the syntax repeats what may be a secret", async () => {
  const key = "sk-ant-REALKEY";
  for (const line of [`${key}: more`, `*${key}`, `*${key}/x`, `&${key}/x: y`, `"${key}`, `{ ${key}: b }: c`])
    expect((await complaints(team().replace("${KEY}", line))).join("\n"), line).not.toContain("REALKEY");
  const joined = team().replace("api_key: ${KEY}", `api_key:${key}`);
  expect((await complaints(joined)).join("\n")).not.toContain("REALKEY");
});

test("CF-11: a key in the query of an address is a secret that stands in the file", async () => {
  const found = await complaints(
    team({ provider: "    base_url: https://gate.example.com/v1?api_key=SECRETVALUE" }),
  );
  expect(found).toEqual([
    expect.stringMatching(
      /secret_in_file providers\[0\]\.base_url: api_key in the query is a secret[^]*write api_key=\$\{ANTHROPIC_API_KEY\} and set it/,
    ),
  ]);
  expect(found.join()).not.toContain("SECRETVALUE");
  for (const query of ["accessToken=S1", "v=2&clientSecret=S1", "sig=S1", "X-Amz-Signature=S1", "API_KEY=S1"])
    expect(
      (await said(team({ provider: `    base_url: https://gate.example.com/v1?${query}` }))).join(),
      query,
    ).toContain("in the query is a secret");
  for (const query of ["?api_key=${KEY}", "?token=Bearer%20${KEY}", "?version=2", "?key=", "?monkey=1"])
    expect(
      await said(team({ provider: `    base_url: https://gate.example.com/v1${query}` })),
      query,
    ).toEqual([]);
});

test("CF-25: a base_url that goes on to an endpoint is told which part to leave out", async () => {
  for (const path of ["/chat/completions", "/v1/messages", "/v1/responses/"])
    expect((await said(team({ provider: `    base_url: https://gate.example.com${path}` }))).join()).toMatch(
      /^invalid_url providers\[0\]\.base_url: omit \/(chat\/completions|messages|responses\/): /,
    );
});

test("CF-25: an address or a key of Workers AI, which is reached by neither, is told the way out", async () => {
  const yaml = team({ provider: "    base_url: https://gate.example.com/v1" }).replace(
    "anthropic",
    "workers-ai",
  );
  expect((await complaints(yaml)).map((line) => line.replace("config/acme/team.yaml", ""))).toEqual([
    ":4:5 error exclusive_keys providers[0].api_key: workers-ai uses a binding, and no api_key\n  remove api_key; an account's models are reached by their address with kind: openai-compatible",
    ":6:5 error exclusive_keys providers[0].base_url: workers-ai uses a binding, and no base_url\n  remove base_url; an account's models are reached by their address with kind: openai-compatible",
  ]);
});

test("CF-25: a value of the wrong type is told what to write", async () => {
  const hints = async (...given: Parameters<typeof team>): Promise<string> =>
    (await complaints(team(...given))).join("\n");
  expect(await hints({ agent: '    guards: { budget: { max_cost_usd: "5" } }' })).toContain("\n  write 5");
  expect(await hints({ agent: "    guards: { budget: { max_cost_usd: $2 } }" })).toContain(
    "\n  write digits, without words or a unit",
  );
  expect(await hints({ agent: "    guards: { tool_loops: true }" })).toContain(
    "\n  remove the key: it is on unless it says false",
  );
  expect(await hints({ agent: "    guards: { tool_loops: off }" })).toContain("\n  write false");
  expect((await complaints(team().replace("[filesystem]", "filesystem"))).join()).toContain(
    "\n  write [filesystem]",
  );
  expect((await complaints(team().replace("name: guide", "name: 123"))).join()).toContain(
    "\n  put it in quotes",
  );
  const server = "mcp_servers: [{ name: kb, url: https://kb.example/mcp, protocol: 2025 }]";
  expect(await hints({ top: server })).toContain("found the number 2025\n  put it in quotes");
  for (const [written, meant] of [
    ["${ANTHROPIC-KEY}", "${ANTHROPIC_KEY}"],
    ["${env:FOO}", "${FOO}"],
  ] as const)
    expect((await complaints(team().replace("${KEY}", written))).join()).toContain(`\n  write ${meant};`);
  expect((await complaints({ "team.yml": team() })).join()).toContain("\n  rename team.yml to team.yaml");
});

test("CF-7: blank lines before the frontmatter of a skill are none of its text", async () => {
  const { team: built } = await compile({
    "team.yaml": team({ agent: "    skills: [four]" }),
    "skills/four/SKILL.md": "\n\n---\nname: four\ndescription: Counts.\n---\nbody\n",
  });
  expect(built?.skills).toMatchObject([{ name: "four", description: "Counts.", body: "body" }]);
});

test("CF-14 TB-33: a time of commands that the sandbox would cut is refused, if the author wrote it", async () => {
  const sandbox = "sandbox: { limits: { wall: 1m } }";
  const written = team({
    top: sandbox,
    agent: "    options: { command_timeout: 30s, max_command_timeout: 5m }",
  });
  expect(await complaints(written)).toEqual([
    "config/acme/team.yaml:9:59 error out_of_range agents[0].options.max_command_timeout: sandbox.limits.wall ends each command after 60 s\n  write a shorter time here, or a longer one there",
  ]);
  expect(await complaints(team({ top: sandbox }))).toEqual([]);
});

test("CF-25: a wrap-up note that comes too late is refused, unless the defaults mean longer runs or a person may allow more turns", async () => {
  const second = "  - { name: scout, options: { max_iterations: 20 } }";
  const late = "threshold_unreachable agents[0].options.warn_iterations";
  for (const [yaml, found] of [
    [team({ agent: "    options: { warn_iterations: 100 }" }), [late]],
    [team({ agent: second, top: "defaults: { options: { warn_iterations: 120 } }" }), [late]],
    [team({ agent: second, top: "defaults: { options: { warn_iterations: 90 } }" }), []],
    [
      team({
        agent:
          "    options: { warn_iterations: 9, max_iterations: 0 }\n    guards: { budget: { max_tokens: 9 } }",
      }),
      [],
    ],
    [
      team({ agent: "    options: { warn_iterations: 120 }", top: "budgets: { run: { on_exceeded: ask } }" }),
      [],
    ],
    [
      team({ agent: "    options: { warn_iterations: 120 }\n    guards: { budget: { on_exceeded: ask } }" }),
      [],
    ],
  ] as const)
    expect((await said(yaml)).map((line) => line.split(": ")[0])).toEqual(found);
});

test("CF-25 CF-28: a list of agents in the defaults may name the caller, and an empty one is meant so", async () => {
  const second = "  - name: scout";
  const shared = "defaults: { delegation: { may_call: [guide, scout] } }";
  expect(await complaints(team({ agent: second, top: shared }))).toEqual([]);
  expect(await complaints(team({ agent: `    delegation: { may_call: [] }\n${second}` }))).toEqual([]);
  const nobody = shared.replace("guide,", "'cod*',");
  expect(await complaints(team({ agent: second, top: nobody }))).toEqual([
    expect.stringContaining('may_call[0]: no agent of this team fits "cod*"'),
  ]);
});

test("CF-25: a pattern of agents that is none is refused", async () => {
  const may = (patterns: string) => team({ agent: `    delegation: { may_call: [${patterns}] }` });
  const path = "invalid_value agents[0].delegation.may_call";
  expect(await said(may("'{guide,scout}', '[gs'"))).toEqual([
    `${path}[0]: braces have no meaning in a pattern`,
    `${path}[1]: the bracket is not closed`,
  ]);
  expect(await complaints(may("'[gs]*'"))).toEqual([]);
});

test("CF-25 CF-28: a misspelt toolbox does not make a server seem unused", async () => {
  const servers = "mcp_servers: [{ name: library, url: 'https://h.example/mcp' }]";
  expect(await complaints(team({ top: servers }).replace("[filesystem]", "[librayr]"))).toEqual([
    expect.stringContaining("unknown_toolbox"),
  ]);
});

test("CF-25 TB-7: a rule that has expired is told as that, and not for what leads around it", async () => {
  const rule = (date: string) =>
    team({ agent: `    permissions: { rules: [{ tool: fs_delete, action: deny, expires: ${date} }] }` });
  const now = Date.parse("2026-06-02");
  expect(await complaints(rule("2026-06-01"), { now })).toEqual([
    expect.stringContaining("the rule has expired"),
  ]);
  for (const held of [rule("2026-06-02"), rule("2026-06-02T00:00:01Z")])
    expect(await complaints(held, { now })).toEqual([expect.stringContaining("rule_gap")]);
});

test("CF-25: the fallbacks of a provider that calls may choose for a child are in use", async () => {
  const provider = (name: string, more = ""): string =>
    `  - { name: ${name}, kind: scripted, model: m, ${more} script: { script: 1, replies: [{ reply: [{ text: hi }] }] } }\n`;
  const yaml = `providers:
${provider("own")}${provider("chosen", "fallbacks: [spare],")}${provider("spare")}${provider("idle")}agents:
  - { name: lead, toolboxes: [agents], delegation: { providers: [chosen] } }
  - { name: coder }
`;
  const findings = await said(yaml);
  expect(findings.filter((line) => line.includes("unused_provider"))).toEqual([
    expect.stringContaining("no agent uses the provider idle"),
  ]);
});

test("CF-25 MO-14: only a schema that a provider is sent is held against its strict mode", async () => {
  const options = (format: string): string =>
    team({
      agent: `    options: { response_format: ${format}, response_schema: { type: object, properties: { a: { type: string } } } }`,
    }).replace("anthropic", "openai");
  expect(await complaints(options("json_object"))).toEqual([]);
  expect(await complaints(options("json_schema"))).toEqual([expect.stringContaining("schema_not_strict")]);
});
