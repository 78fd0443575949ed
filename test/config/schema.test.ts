import { expect, test } from "vitest";
import { duration, globProblem, parseDuration, size } from "../../src/schema.ts";
import type { Team } from "../../src/config/team.ts";
import { complaints, compile, team } from "./support.ts";

const built = async (yaml: string): Promise<Team> => {
  const { team: compiled, diagnostics } = await compile(yaml);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  if (compiled === null) throw new Error("the team was not built");
  return compiled;
};
const agentOf = async (yaml: string): Promise<Team["agents"][number]> => {
  const [agent] = (await built(yaml)).agents;
  if (agent === undefined) throw new Error("there is no agent");
  return agent;
};

test("CF-10: a team of two lists gets every default", async () => {
  const compiled = await built(team());
  expect(compiled.entry_agent).toBe("guide");
  expect(compiled.sessions).toEqual({
    on_busy: "reject",
    revision: "pin",
    model_override: "listed",
    interactive: true,
    max_running_threads: 5,
  });
  expect(compiled.limits).toEqual({
    asks: { timeout: 86_400_000, on_timeout: "continue" },
    threads: { per_run: 64 },
    runs: { per_tenant: 100 },
  });
  expect(compiled.access).toEqual({
    origins: [],
    hosts: [],
    token_ttl: 900_000,
    rate_limit: { rpm: 600 },
  });
  expect(compiled.context).toEqual({ max_chars: 32_000, external: false, max_external_file_size: 524_288 });
  expect(compiled.budgets.run).toMatchObject({
    max_tokens: 5_000_000,
    max_tool_calls: 1_000,
    max_cost_usd: 10,
  });
  expect(compiled.budgets.session.max_tokens).toBeNull();
  expect(compiled.retention).toEqual({ session_days: null, event_days: null });
  expect(compiled.sandbox.limits).toEqual({
    wall: 600_000,
    output: 1_048_576,
    processes: 64,
    disk: 268_435_456,
    file: 33_554_432,
  });
});

test("CF-11: a provider gets its defaults", async () => {
  const [provider] = (await built(team())).providers;
  expect(provider).toMatchObject({
    max_tokens: 16_384,
    rate_limit: { input_tpm: 0, output_tpm: 0, rpm: 0, max_concurrent: 0, max_retries: 3, base_delay: 1_000 },
    retry: { max_wait: 600_000 },
    timeouts: { connect: 60_000, idle: 90_000, content_idle: 300_000, total: 600_000 },
    cache: { mode: "auto", ttl: "5m" },
    headers: {},
    fallbacks: [],
  });
  expect(provider?.api_key).toBe("${KEY}");
  expect(provider?.context_window).toBeUndefined();
});

test("CF-11: headers that belong to the connection are refused", async () => {
  const yaml = team({ provider: "    headers: { Host: a, Cookie: b, X-Ok: c, 'no header': d }" });
  expect((await complaints(yaml)).map((line) => line.split(": ")[0])).toEqual([
    "config/acme/team.yaml:6:22 error invalid_value providers[0].headers.Host",
    "config/acme/team.yaml:6:33 error invalid_value providers[0].headers.Cookie",
    'config/acme/team.yaml:6:58 error invalid_value providers[0].headers["no header"]',
  ]);
});

test("CF-13 AG-1: an agent gets its defaults", async () => {
  const agent = await agentOf(team());
  expect(agent).toMatchObject({
    provider: "main",
    prefix: "🤖",
    toolboxes: [{ name: "ask" }, { name: "filesystem" }],
    skills: [],
    async: false,
    max_concurrency: 0,
    delegation: { inherit: "own", may_call: ["*"], max_children_per_call: 8, max_concurrent: 5 },
  });
  expect(agent.model).toBeUndefined();
});

test("CF-13 AG-1: a prefix has at most 32 characters, an empty one is the default", async () => {
  expect((await agentOf(team({ agent: '    prefix: ""' }))).prefix).toBe("🤖");
  const yaml = team({ agent: `    prefix: ${"🐚".repeat(33)}` });
  expect(await complaints(yaml)).toEqual([
    "config/acme/team.yaml:9:13 error out_of_range agents[0].prefix: 33 characters, at most 32 are allowed here",
  ]);
});

test("CF-13 ★: a name and a list of tools are two forms of one thing, [] is none", async () => {
  const forms = async (toolboxes: string): Promise<unknown> =>
    (await agentOf(team().replace("[filesystem]", toolboxes))).toolboxes;
  expect(await forms("[{ name: filesystem }]")).toEqual(await forms("[filesystem]"));
  expect(await forms("[{ name: filesystem, tools: [] }, { name: ask, tools: [] }]")).toEqual([
    { name: "filesystem", tools: [] },
    { name: "ask", tools: [] },
  ]);
});

test("CF-14: options have the documented defaults", async () => {
  const { options } = await agentOf(team());
  expect(options).toMatchObject({
    max_iterations: 100,
    max_delegation_depth: 0,
    context_threshold: 0.8,
    context_window_warning_threshold: 0.8,
    interaction_mode: "blocking",
    command_timeout: 120_000,
    max_command_timeout: 600_000,
    loop_detection_threshold: 0,
    tool_output_limits: {},
    cache_tool_results: false,
    reflect_on_error: true,
    tool_access: "",
  });
  expect(options.writable_paths).toBeUndefined();
  expect(options.question_timeout).toBeUndefined();
});

test("CF-14: an absent writable_paths is unbounded, an empty one allows nothing", async () => {
  expect(
    (await agentOf(team({ agent: "    options: { writable_paths: [] }" }))).options.writable_paths,
  ).toEqual([]);
});

test("CF-14: max_command_timeout is at least command_timeout", async () => {
  const yaml = team({ agent: "    options: { command_timeout: 20m }" });
  expect(await complaints(yaml)).toEqual([
    "config/acme/team.yaml:9:16 error out_of_range agents[0].options.max_command_timeout: it must be at least command_timeout",
  ]);
});

test("CF-14: a response schema may be JSON text", async () => {
  const yaml = team({
    agent: `    options: { response_format: json_schema, response_schema: '{"type":"object"}' }`,
  });
  expect((await agentOf(yaml)).options.response_schema).toEqual({ type: "object" });
});

test("CF-15: false switches a guard off, an absent budget has no bound, 0 is a bound", async () => {
  const yaml = team({
    agent: "    guards: { tool_loops: false, context_window: false, budget: { max_tool_calls: 0 } }",
  });
  const { guards } = await agentOf(yaml);
  expect(guards.tool_loops.enabled).toBe(false);
  expect(guards.context_window).toEqual({ minimum: 0, warning: 0 });
  expect(guards.budget).toMatchObject({ max_tokens: null, max_cost_usd: null, max_tool_calls: 0 });
  expect((await agentOf(team())).guards.budget).toMatchObject({ max_tokens: null, max_tool_calls: null });
});

test("CF-15: the original's camel-case spellings are synonyms, both at once are a mistake", async () => {
  const guards = (inner: string): string =>
    team({ agent: `    guards: { tool_loops: { enabled: false, ${inner} } }` });
  expect((await agentOf(guards("historySize: 40"))).guards.tool_loops.history_size).toBe(40);
  expect(await complaints(guards("historySize: 40, history_size: 30"))).toEqual([
    "config/acme/team.yaml:9:62 error duplicate_setting agents[0].guards.tool_loops.history_size: history_size is written in both spellings",
  ]);
});

test("CF-16 ★: durations, sizes and zeros mean what they say", () => {
  expect(["90s", "1h30m", "500ms", "1.5m", "1d", "0s"].map(parseDuration)).toEqual([
    90_000, 5_400_000, 500, 90_000, 86_400_000, 0,
  ]);
  expect(["", "5", "5 s", "s", "-1s", "1w", "1e3s", " 1s"].map(parseDuration)).toEqual(Array(8).fill(null));
  expect(duration().safeParse(`${"9".repeat(20)}d`).success).toBe(false);
  expect(["1KiB", "32MiB", "1GiB", 7, 0].map((value) => size().parse(value))).toEqual([
    1_024, 33_554_432, 1_073_741_824, 7, 0,
  ]);
  expect(["1KB", "-1KiB", "1.5MiB", -1, 1.5].map((value) => size().safeParse(value).success)).toEqual(
    Array(5).fill(false),
  );
});

test("CF-16: a duration without unit and a null value name the way out", async () => {
  const yaml = team({
    agent: "    options:\n      question_timeout: 60\n      command_timeout: 5x\n      writable_paths:",
  });
  expect(await complaints(yaml)).toEqual([
    'config/acme/team.yaml:10:25 error invalid_duration agents[0].options.question_timeout: write a duration with its unit, like "30s", "10m" or "1h30m"',
    'config/acme/team.yaml:11:24 error invalid_duration agents[0].options.command_timeout: write a duration with its unit, like "30s", "10m" or "1h30m"',
    "config/acme/team.yaml:12:22 error wrong_type agents[0].options.writable_paths: expected a list, found no value\n  give the key a value, or remove it to get the default",
  ]);
});

test("CF-17: defaults fill what an agent leaves out; options, reasoning and guards merge key by key", async () => {
  const yaml = team({
    agent: [
      "    options: { max_iterations: 7 }",
      "    guards: { budget: { max_tokens: 5 } }",
      "  - name: helper",
    ].join("\n"),
    top: [
      "defaults:",
      "  toolboxes: [exec, search]",
      "  prefix: X",
      "  temperature: 0.5",
      "  options: { max_iterations: 3, command_timeout: 5s }",
      "  guards: { budget: { max_tokens: 9, max_tool_calls: 4 } }",
    ].join("\n"),
  });
  const [guide, helper] = (await built(yaml)).agents;
  expect(guide?.toolboxes).toEqual([{ name: "ask" }, { name: "filesystem" }]);
  expect(guide).toMatchObject({ prefix: "X", temperature: 0.5 });
  expect(guide?.options).toMatchObject({ max_iterations: 7, command_timeout: 5_000 });
  expect(guide?.guards.budget).toMatchObject({ max_tokens: 5, max_tool_calls: 4 });
  expect(helper?.toolboxes).toEqual([{ name: "ask" }, { name: "exec" }, { name: "search" }]);
  expect(helper?.options.max_iterations).toBe(3);
});

test("CF-17: of reasoning's two ways to say how much, an agent's own takes the place of the other in defaults", async () => {
  const reasoning = async (own: string, shared: string): Promise<unknown> =>
    (await agentOf(team({ agent: `    reasoning: ${own}`, top: `defaults: { reasoning: ${shared} }` })))
      .reasoning;
  const effort = "{ effort: high, summary: none }";
  const tokens = "{ budget_tokens: 4000, summary: none }";
  expect(await reasoning("{ budget_tokens: 2000 }", effort)).toEqual({
    budget_tokens: 2_000,
    summary: "none",
  });
  expect(await reasoning("{ effort: low }", tokens)).toEqual({ effort: "low", summary: "none" });
  expect(await reasoning("{ summary: auto }", tokens)).toEqual({ budget_tokens: 4_000, summary: "auto" });
  const both = team({ agent: "    reasoning: { effort: low, budget_tokens: 2000 }" });
  expect((await complaints(both))[0]).toContain("exclusive_keys agents[0].reasoning");
});

test("CF-17: a mistake in defaults is reported once, where it was written", async () => {
  const yaml = team({
    agent: "  - name: helper",
    top: "defaults: { options: { max_iterations: many, x: 1 } }",
  });
  expect(await complaints(yaml)).toEqual([
    "config/acme/team.yaml:10:40 error wrong_type defaults.options.max_iterations: expected a number, found a text\n  write digits, without words or a unit",
    'config/acme/team.yaml:10:46 error unknown_key defaults.options.x: unknown key "x"',
  ]);
});

test("CF-17: name, description and instructions cannot be defaults", async () => {
  expect(await complaints(team({ top: "defaults: { instructions: Hi }" }))).toEqual([
    'config/acme/team.yaml:9:13 error unknown_key defaults.instructions: unknown key "instructions"',
  ]);
});

test("CF-10: x- keys hold anchors and are not part of a team", async () => {
  const yaml = team({ agent: "    options: *o", top: "" }).replace(
    "providers:",
    "x-o: &o { max_iterations: 4 }\nproviders:",
  );
  expect((await agentOf(yaml)).options.max_iterations).toBe(4);
});

test("CF-10: the original's wrapper is accepted, and its skills must exist", async () => {
  const wrapped = `template: { name: t, description: d }\nconfig:\n${team().replaceAll(/^/gm, "  ").trimEnd()}\n`;
  const files = {
    "team.yaml": `${wrapped}embedded_skills: [{ name: review }]\n`,
    "skills/review/SKILL.md": "Look.",
  };
  expect((await compile(files)).team?.agents[0]?.skills).toEqual(["review"]);
  expect(await complaints({ "team.yaml": `${wrapped}embedded_skills: [{ name: revew }]\n` })).toEqual([
    'config/acme/team.yaml:11:27 error unknown_skill embedded_skills[0].name: there is no skill "revew"\n  add skills/revew/SKILL.md',
  ]);
  expect(await complaints(wrapped.replace("  agents:", "  agnets:"))).toEqual([
    'config/acme/team.yaml:8:3 error unknown_key config.agnets: unknown key "agnets"\n  did you mean "agents"?',
  ]);
});

test("CF-24: omitted effects become two, [] none, a window of 0 none, a threshold of 0 one", async () => {
  const kinds = async (yaml: string): Promise<unknown> => (await agentOf(yaml)).effects;
  expect(await kinds(team())).toEqual([
    { kind: "trim_tool_results", params: { max_result_length: 500, preserve_recent: 4 } },
    { kind: "compact", params: { threshold: 0.8, keep_turns: 0, on_failure: "ladder" } },
  ]);
  expect(await kinds(team({ agent: "    effects: []" }))).toEqual([]);
  expect(await kinds(team({ provider: "    context_window: 0" }))).toEqual([]);
  expect(await kinds(team({ agent: "    options: { context_threshold: 0 }" }))).toHaveLength(1);
});

test("CF-25 ★: all mistakes are reported at once, in the order of the file", async () => {
  const yaml = team({
    provider: "    max_tokens: 0",
    agent: "    skills: [nope]\n    toolboxes2: []\n    provider: mian\n    options: { max_iterations: 0 }",
    top: "entry_agent: nobody",
  }).replace("[filesystem]", "[filesystm, { name: exec, tools: [exec_rum], tool: [] }]");
  expect((await complaints(yaml)).map((line) => line.split(": ")[0])).toEqual([
    "config/acme/team.yaml:6:17 error out_of_range providers[0].max_tokens",
    "config/acme/team.yaml:9:17 error unknown_toolbox agents[0].toolboxes[0]",
    "config/acme/team.yaml:9:50 error unknown_tool agents[0].toolboxes[1].tools[0]",
    "config/acme/team.yaml:9:61 error unknown_key agents[0].toolboxes[1].tool",
    "config/acme/team.yaml:10:14 error unknown_skill agents[0].skills[0]",
    "config/acme/team.yaml:11:5 error unknown_key agents[0].toolboxes2",
    "config/acme/team.yaml:12:15 error unknown_provider agents[0].provider",
    "config/acme/team.yaml:13:32 error unbounded_agent agents[0].options.max_iterations",
    "config/acme/team.yaml:14:14 error unknown_agent entry_agent",
  ]);
});

test("CF-25: a mistake in one entry of a list does not hide the others", async () => {
  const yaml = team({
    provider: "  - kind: openai\n    model: 3\n  - name: main\n    kind: grk\n    model: m",
  });
  expect((await complaints(yaml)).map((line) => line.split(": ")[0])).toEqual([
    "config/acme/team.yaml:6:5 error missing_key providers[1].name",
    "config/acme/team.yaml:7:12 error wrong_type providers[1].model",
    "config/acme/team.yaml:8:11 error duplicate_name providers[2].name",
    "config/acme/team.yaml:9:11 error unknown_provider_kind providers[2].kind",
  ]);
});

test("CF-14: working_dir is a folder of the workspace", async () => {
  const diagnosed = async (value: string): Promise<readonly string[]> =>
    complaints(team({ agent: `    options: { working_dir: "${value}" }` }));
  for (const inside of [".", "src/lib", "/workspace/src", "a/../b"])
    expect(await diagnosed(inside)).toEqual([]);
  for (const outside of ["..", "/etc", "a/../../b"])
    expect(await diagnosed(outside)).toEqual([
      "config/acme/team.yaml:9:29 error invalid_value agents[0].options.working_dir: write a folder of the workspace, like src or src/app",
    ]);
});

test("SE-22: globs of writable_paths", () => {
  const good = ["**", "src/**", "**/a.ts", "src/**/a.ts", "a.ts", "src/*.ts", "a-*"];
  const wrong = ["", " ", "/etc", "~/a", "../a", "a/../b", "{a,b}", "a/**/b/**", "a**", "src/**.ts"];
  expect(good.map(globProblem)).toEqual(good.map(() => null));
  expect(wrong.filter((glob) => globProblem(glob) === null)).toEqual([]);
});

test("CF-27 ★: a cost limit needs prices of the model and of its fallbacks", async () => {
  const yaml = team({
    provider: "    fallbacks: [{ provider: main, model: mystery }]",
    agent: "    guards: { budget: { max_cost_usd: 1 } }",
  });
  expect((await complaints(yaml))[0]).toContain("budget_without_price agents[0].guards.budget.max_cost_usd");
  expect(await complaints(`${yaml}models: { mystery: { price: { input: 1, output: 2 } } }\n`)).toEqual([]);
});

test("CF-12: an MCP server has exactly one of url and command, and no built-in's name", async () => {
  const yaml = team({
    top: "mcp_servers:\n  - { name: git, url: 'https://a.example/mcp' }\n  - { name: b, url: 'https://b.example', command: c }\n  - { name: c__d, url: c }",
  });
  const said = (await complaints(yaml)).filter((line) => !line.includes("not_available"));
  expect(said.map((line) => line.split(": ")[0])).toEqual([
    "config/acme/team.yaml:10:13 error name_conflict mcp_servers[0].name",
    "config/acme/team.yaml:11:5 error exclusive_keys mcp_servers[1]",
    "config/acme/team.yaml:12:13 error invalid_value mcp_servers[2].name",
  ]);
});

/** Every key that a file of the original may have, with values of our own. */
const original = `
providers:
  - name: default
    kind: anthropic
    api_key: \${KEY}
    model: claude-sonnet-5-5
    context_window: 190000
    max_tokens: 8000
    rate_limit: { input_tpm: 90000, output_tpm: 40000, rpm: 50, max_retries: 2, base_delay: "2s" }
    batch: { enabled: true, collect_window: 1s, poll_interval: 5s, timeout: 1h, max_batch_size: 10 }
  - { name: spare, kind: openai, api_key: "\${SPARE}", model: gpt-6.1-sol }
mcp_servers:
  - { name: web, command: mcp-web, args: [-v] }
  - { name: data, url: "https://mcp.example.com/mcp?token=\${DATA}&groups=a" }
agents:
  - name: maker
    description: Makes things
    instructions: Make things. Charge $5.
    provider: default
    prefix: "🔨"
    toolboxes: [filesystem, { name: git, tools: [git_status] }, http, browser, state, tasks, notes, web, data]
    skills: [making]
    effects:
      - { kind: trim_tool_results, params: { max_result_length: 400, preserve_recent: 3 } }
      - { kind: compact, params: { threshold: 0.75 } }
      - { kind: loop_detect, params: { threshold: 3, window_size: 6 } }
      - { kind: sliding_window, params: { threshold: 0.7, recent_zone: 8, medium_zone: 8, trim_length: 150 } }
      - { kind: observation_mask, params: { threshold: 0.5, recent_window: 8 } }
      - { kind: reflection, params: { failure_threshold: 3 } }
      - { kind: progress, params: { interval: 4 } }
      - { kind: stall_detect, params: { window: 6, similarity_threshold: 0.8 } }
      - { kind: time_budget, params: { max_duration: 10m } }
      - { kind: token_budget, params: { max_tokens: 100000, warn_threshold: 0.7 } }
      - { kind: offload, params: { threshold: 0.5, min_result_len: 2000, recent_window: 6 } }
      - { kind: tool_scope, params: { exclude: [fs_delete] } }
    options:
      max_iterations: 90
      warn_iterations: 80
      max_delegation_depth: 2
      max_handoffs: 1
      context_threshold: 0.8
      interaction_mode: auto
      question_timeout: 1h
    skills_tags: [making]
    estimated_cost: medium
    max_concurrency: 2
entry_agent: maker
default_context_windows: { anthropic: 180000, custom-llm: 64000 }
filesystem: { permissions_file: perms.yaml }
git: { work_dir: /repo }
browser: { headless: false }
context: { max_external_file_size: 1000 }
`;

test("CF-18: a file with every key of the original is understood; what means nothing here is said", async () => {
  const { diagnostics } = await compile({ "team.yaml": original, "skills/making/SKILL.md": "Make." });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  expect(errors).toEqual([]);
  const warnings = diagnostics.filter(({ severity }) => severity === "warning");
  expect(warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
    "key_ignored providers[0].batch.enabled",
    "unused_provider providers[1].name",
    "needs_sandbox_process mcp_servers[0].command",
    "delegation_impossible agents[0].options.max_delegation_depth",
    "key_ignored agents[0].options.context_threshold",
    "key_ignored default_context_windows.custom-llm",
    "key_ignored filesystem.permissions_file",
    "key_ignored git.work_dir",
    "key_ignored browser.headless",
  ]);
});

const refusals: readonly [name: string, yaml: string, place: string][] = [
  [
    "CF-11: a compatible server needs an address",
    team().replace("kind: anthropic", "kind: openai-compatible"),
    "2:5 error missing_key providers[0].base_url",
  ],
  [
    "CF-25: an address has a scheme that providers speak",
    team({ provider: "    base_url: wss://a.example" }),
    "6:15 error invalid_url providers[0].base_url",
  ],
  [
    "MO-39: a scripted provider needs a script",
    team().replace("kind: anthropic", "kind: scripted"),
    "2:5 error missing_key providers[0].script",
  ],
  [
    "MO-39: only a scripted provider has a script",
    team({ provider: "    script: { script: 1, replies: [{ reply: [{ text: hi }] }] }" }),
    "6:5 error exclusive_keys providers[0].script",
  ],
  [
    "MO-39: a scene that leads nowhere",
    team({
      provider: "    script: { script: 1, start: b, scenes: [{ name: a, reply: [{ text: hi }] }] }",
    }).replace("kind: anthropic", "kind: scripted"),
    "6:33 error script_invalid providers[0].script.start",
  ],
  [
    "MO-39: a wrong key in an inline script",
    team({ provider: "    script: { script: 1, scens: [], replies: [{}] }" }).replace(
      "kind: anthropic",
      "kind: scripted",
    ),
    "6:26 error script_invalid providers[0].script.scens",
  ],
  [
    "TB-7: shell text takes no pattern",
    team({ top: "permissions: { rules: [{ tool: exec_shell, match: 'git *', action: allow }] }" }),
    "9:51 error invalid_value permissions.rules[0].match",
  ],
  [
    "CF-14: a schema format needs its schema",
    team({ agent: "    options: { response_format: json_schema }" }),
    "9:16 error missing_key agents[0].options.response_schema",
  ],
  [
    "CF-25: a schema within 16 levels",
    team({
      agent: `    options: { response_schema: ${"{ not: ".repeat(17)}{}${" }".repeat(17)} }`,
    }),
    "9:33 error invalid_schema agents[0].options.response_schema",
  ],
  [
    "CF-25: a schema that compiles",
    team({ agent: "    options: { response_schema: { type: nonsense } }" }),
    "9:33 error invalid_schema agents[0].options.response_schema",
  ],
  [
    "AP-15: an origin has no path",
    team({ top: "access: { origins: ['https://a.example/x'] }" }),
    "9:21 error invalid_url access.origins[0]",
  ],
  ...[
    "https://a.example",
    "a.example:443",
    "A.example",
    "a.example.",
    "'*.a.example'",
    "a.example/x",
    "'[::1]'",
  ].map((host): [string, string, string] => [
    `AP-14: a host is a name alone, not ${host}`,
    team({ top: `access: { hosts: [b.example, ${host}] }` }),
    "9:30 error invalid_value access.hosts[1]",
  ]),
  [
    "AP-13: a browser token lives at most an hour",
    team({ top: "access: { token_ttl: 2h }" }),
    "9:22 error out_of_range access.token_ttl",
  ],
  [
    "CF-10: a list of 33 providers is too long",
    `providers:\n${Array.from({ length: 33 }, (_, at) => `  - { name: p${at}, kind: openai, model: m }`).join("\n")}\nagents: [{ name: a }]\n`,
    "2:3 error out_of_range providers",
  ],
  [
    "MO-38: an alias names one thing",
    team({ top: "models: { m: { alias: main } }" }),
    "9:23 error duplicate_name models.m.alias",
  ],
  [
    "TB-4: a toolbox stands in the list once",
    team().replace("[filesystem]", "[filesystem, { name: filesystem, tools: [] }]"),
    "8:29 error duplicate_name agents[0].toolboxes[1]",
  ],
];
for (const [name, yaml, place] of refusals) {
  test(name, async () => {
    const errors = (await complaints(yaml)).filter((line) => line.includes(" error "));
    expect(errors.map((line) => line.replace("config/acme/team.yaml:", "").split(": ")[0])).toEqual([place]);
  });
}

test("CF-28 TB-32 TB-33: a setting that the sandbox would refuse is refused here", async () => {
  expect(
    await complaints(team({ top: 'sandbox: { env: { "A B": x, C_1: y }, limits: { output: 10 } }' })),
  ).toEqual([
    'config/acme/team.yaml:9:26 error invalid_value sandbox.env["A B"]: a name has letters, digits and _, and does not begin with a digit',
    "config/acme/team.yaml:9:57 error out_of_range sandbox.limits.output: it must be at least 1024 bytes",
  ]);
});

test("CF-25 TB-7: a permission rule names either tools or an act that there is", async () => {
  const rule = (text: string): Promise<string[]> =>
    complaints(team({ top: `permissions:\n  rules:\n    - { ${text}, action: deny }` }));
  const either = "exclusive_keys permissions.rules[0]: a rule names exactly one of tool and act";
  expect(await rule("match: x")).toEqual([`config/acme/team.yaml:11:7 error ${either}`]);
  expect(await rule("tool: fs_write, act: write")).toEqual([`config/acme/team.yaml:11:7 error ${either}`]);
  expect(await rule("act: wirte, match: x")).toEqual([
    expect.stringMatching(/^config\/acme\/team.yaml:11:14 error invalid_value permissions.rules\[0\].act: /),
  ]);
  expect(await rule("act: write, match: /infra/**")).toEqual([
    expect.stringMatching(
      /^config\/acme\/team.yaml:11:28 error invalid_value permissions.rules\[0\].match: /,
    ),
  ]);
  expect(await rule("act: egress, match: 'https://a.example:443/**'")).toEqual([]);
});

test("CF-25 TB-7: a permission rule that could never match is an error, one for a client's tool is not", async () => {
  const rules = (...lines: string[]): Promise<string[]> =>
    complaints(
      team({
        top: ["permissions:", "  rules:", ...lines.map((line) => `    - { ${line}, action: deny }`)].join(
          "\n",
        ),
      }),
    );
  expect(await rules("tool: fs_wriet")).toEqual([
    'config/acme/team.yaml:11:15 error unknown_tool permissions.rules[0].tool: there is no tool "fs_wriet"\n  did you mean "fs_write"?',
  ]);
  expect(await rules("tool: fs_write, match: /workspace/infra/**", "tool: 'fs_*', match: ../x")).toEqual([
    "config/acme/team.yaml:11:32 error invalid_value permissions.rules[0].match: file tools see paths relative to the workspace, so this never matches\n  write it like src/** or src/*.ts",
    "config/acme/team.yaml:12:30 error invalid_value permissions.rules[1].match: file tools see paths relative to the workspace, so this never matches\n  write it like src/** or src/*.ts",
  ]);
  for (const match of ["infra/", "infra//x"])
    expect(await rules(`tool: fs_write, match: ${match}`)).toEqual([
      "config/acme/team.yaml:11:32 error invalid_value permissions.rules[0].match: file tools see paths relative to the workspace, so this never matches\n  write it like src/** or src/*.ts",
    ]);
  expect(
    await rules(
      "tool: pick_a_color",
      "tool: 'github__*'",
      "tool: exec_run, match: /usr/bin/rm *",
      "tool: '*', match: /usr/**",
      "act: write, match: 'infra/**'",
    ),
  ).toEqual([]);
  const own = team({ agent: "    permissions: { rules: [{ tool: exec_runn, action: ask }] }" });
  expect(await complaints(own)).toEqual([
    expect.stringContaining("error unknown_tool agents[0].permissions.rules[0].tool:"),
  ]);
});
