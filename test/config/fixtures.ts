import * as z from "zod";
import type { ErrorCode, WarningCode } from "../../src/config/document/diagnostics.ts";
import type { CompileOptions } from "../../src/config/build/compile.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Files } from "./support.ts";
import { scripted, team } from "./support.ts";
import { warnings } from "./warning-fixtures.ts";

/** One mistake of every kind, exactly what is said about it, and the nearest thing that is right. */
export interface Fixture {
  readonly code: ErrorCode | WarningCode;
  readonly bad: string | Files;
  /** Every diagnostic of `bad`, without the folder's name in front. */
  readonly says: readonly string[];
  readonly good: string | Files;
  readonly badOptions?: Partial<CompileOptions>;
  readonly goodOptions?: Partial<CompileOptions>;
}

const large = (bytes: number): string => `# ${"x".repeat(bytes)}\n`;
const skill = (text: string): Files => ({ "team.yaml": team(), "skills/review/SKILL.md": text });
const latin = new Uint8Array([...new TextEncoder().encode("providers:\n  - name: caf"), 0xe9, 0x0a]);
const backup = (fallbacks: string): string =>
  team({
    provider: [
      "    fallbacks: [backup]",
      "  - name: backup",
      "    kind: anthropic",
      "    model: claude-sonnet-5-5",
      `    fallbacks: ${fallbacks}`,
    ].join("\n"),
  });
const second = "  - name: helper";
const toolbox = (name: string, tools: readonly object[]): Partial<CompileOptions> => ({
  extensions: { exports: { toolboxes: [{ name, description: "", tools }] } },
});
const tool = (name: string, replaces = false): object =>
  defineTool({
    name,
    description: "Reads.",
    params: z.strictObject({}),
    run: () => ({ content: "" }),
    ...(replaces ? { replaces } : {}),
  });
const budget = (limits: string): string => `    guards: { budget: { ${limits} } }`;

export const fixtures: readonly Fixture[] = [
  {
    code: "file_missing",
    bad: { "context/a.md": "x" },
    says: ["team.yaml:1:1 error file_missing: a team folder needs a team.yaml"],
    good: { "team.yaml": team(), "context/a.md": "x" },
  },
  {
    code: "file_missing",
    bad: { "team.yaml": scripted("script: 1")["team.yaml"] ?? "", "scripts/tours.yaml": "" },
    says: [
      'team.yaml:5:13 error file_missing providers[0].script: the team folder has no file scripts/tour.yaml\n  did you mean "scripts/tours.yaml"? known: scripts/tours.yaml',
    ],
    good: scripted("script: 1\nreplies: [{ reply: [{ text: hi }] }]\n"),
  },
  {
    code: "file_too_large",
    bad: team() + large(262_144),
    says: [
      "team.yaml:1:1 error file_too_large: the file has more than 262144 bytes, and no more are allowed",
    ],
    good: team() + large(200_000),
  },
  {
    code: "file_too_large",
    bad: skill(large(65_536)),
    says: [
      "skills/review/SKILL.md:1:1 error file_too_large: the file has more than 65536 bytes, and no more are allowed",
    ],
    good: skill(large(60_000)),
  },
  {
    code: "not_utf8",
    bad: { "team.yaml": latin },
    says: ["team.yaml:2:14 error not_utf8: the file is not UTF-8 here; save it as UTF-8"],
    good: { "team.yaml": new TextEncoder().encode(`\uFEFF${team().replaceAll("\n", "\r\n")}`) },
  },
  {
    code: "yaml_syntax",
    bad: team({ top: "sessions:\n\ton_busy: queue" }),
    says: ["team.yaml:10:1 error yaml_syntax: there is a tab in the indentation; indent with spaces"],
    good: team({ top: "sessions:\n  on_busy: queue" }),
  },
  {
    code: "yaml_syntax",
    bad: `${team()}x-a: "\0"\n`,
    says: ["team.yaml:9:7 error yaml_syntax: a NUL character is not allowed"],
    good: `${team()}x-a: ""\n`,
  },
  {
    code: "yaml_directive",
    bad: `%YAML 1.1\n---\n${team()}`,
    says: ["team.yaml:1:1 error yaml_directive: directives are not allowed; remove this line"],
    good: `---\n${team()}`,
  },
  {
    code: "yaml_tag",
    bad: team({ top: "x-a: !!js/function 'f'" }),
    says: ["team.yaml:9:6 error yaml_tag: a tag is not allowed here; quote a text that begins with !"],
    good: team({ top: "x-a: !!str f" }),
  },
  {
    code: "yaml_depth",
    bad: team({ top: `x-a: ${"[".repeat(40)}${"]".repeat(40)}` }),
    says: ["team.yaml:9:37 error yaml_depth: collections are nested deeper than 32 levels"],
    good: team({ top: `x-a: ${"[".repeat(20)}${"]".repeat(20)}` }),
  },
  {
    code: "yaml_nodes",
    bad: team({ top: `x-a: [${"1,".repeat(10_000)}]` }),
    says: [
      "team.yaml:9:19963 error yaml_nodes x-a[9978]: the file has more than 10000 values, aliases counted as used",
    ],
    good: team({ top: `x-a: [${"1,".repeat(5_000)}]` }),
  },
  {
    code: "yaml_alias",
    bad: team({ top: "entry_agent: *who" }),
    says: ["team.yaml:9:14 error yaml_alias entry_agent: the anchor &who is not defined before this place"],
    good: team({ top: "x-who: &who guide\nentry_agent: *who" }),
  },
  {
    code: "yaml_cycle",
    bad: team({ top: "x-a: &a [*a]" }),
    says: ["team.yaml:9:10 error yaml_cycle x-a[0]: &a contains itself"],
    good: team({ top: "x-a: &a [1]\nx-b: *a" }),
  },
  {
    code: "yaml_documents",
    bad: `${team()}---\nx-a: 1\n`,
    says: [
      "team.yaml:9:1 error yaml_documents: a file holds one document; remove this separator and what follows",
    ],
    good: `${team()}...\n`,
  },
  {
    code: "duplicate_key",
    bad: team({ top: "entry_agent: guide\nentry_agent: guide" }),
    says: [
      'team.yaml:10:1 error duplicate_key entry_agent: "entry_agent" is used twice here, first in line 9 and again in line 10',
    ],
    good: team({ top: "entry_agent: guide" }),
  },
  {
    code: "reserved_key",
    bad: team({ top: "models: { __proto__: {} }" }),
    says: ['team.yaml:9:11 error reserved_key models.__proto__: "__proto__" cannot be used as a key'],
    good: team({ top: "models: { proto: {} }" }),
  },
  {
    code: "unknown_key",
    bad: team({ agent: "    instrutions: Hi." }),
    says: [
      'team.yaml:9:5 error unknown_key agents[0].instrutions: unknown key "instrutions"\n  did you mean "instructions"?',
    ],
    good: team({ agent: "    instructions: Hi." }),
  },
  {
    code: "missing_key",
    bad: team({ provider: "  - kind: openai\n    model: gpt-6.1-sol" }),
    says: ['team.yaml:6:5 error missing_key providers[1].name: "name" is required here'],
    good: team({
      provider: "  - name: other\n    kind: openai\n    model: gpt-6.1-terra",
      agent: `    fallbacks: [other]`,
    }),
  },
  {
    code: "wrong_type",
    bad: team({ top: "browser: { headless: yes }" }),
    says: [
      "team.yaml:9:22 error wrong_type browser.headless: expected true or false, found a text\n  write true",
    ],
    good: team({ top: "browser: { headless: true }" }),
  },
  {
    code: "out_of_range",
    bad: team({ agent: "    options: { context_window_warning_threshold: 1.5 }" }),
    says: [
      "team.yaml:9:50 error out_of_range agents[0].options.context_window_warning_threshold: the value must be at most 1",
    ],
    good: team({ agent: "    options: { context_window_warning_threshold: 1 }" }),
  },
  {
    code: "invalid_value",
    bad: team({ top: "sessions: { on_busy: quue }" }),
    says: [
      'team.yaml:9:22 error invalid_value sessions.on_busy: "quue" is not allowed here\n  did you mean "queue"? known: reject, queue, steer, interrupt, rollback',
    ],
    good: team({ top: "sessions: { on_busy: queue }" }),
  },
  {
    code: "exclusive_keys",
    bad: team({ provider: "    protocol: openai-responses" }),
    says: [
      "team.yaml:6:15 error exclusive_keys providers[0].protocol: anthropic does not speak openai-responses\n  remove protocol, or set the kind of a provider that speaks it",
    ],
    good: team({ provider: "    protocol: openai-responses" }).replace("anthropic", "openai"),
  },
  {
    code: "invalid_duration",
    bad: team({ top: "limits: { asks: { timeout: 30 } }" }),
    says: [
      'team.yaml:9:28 error invalid_duration limits.asks.timeout: write a duration with its unit, like "30s", "10m" or "1h30m"',
    ],
    good: team({ top: 'limits: { asks: { timeout: "30s" } }' }),
  },
  {
    code: "invalid_url",
    bad: team({ provider: "    base_url: https://me:pass@example.com" }),
    says: [
      "team.yaml:6:15 error invalid_url providers[0].base_url: an address must not contain a user or password",
    ],
    good: team({ provider: "    base_url: https://${HOST}/v1" }),
  },
  {
    code: "invalid_schema",
    bad: team({
      agent:
        "    options: { response_format: json_schema, response_schema: { $ref: https://example.com/a.json } }",
    }),
    says: [
      "team.yaml:9:63 error invalid_schema agents[0].options.response_schema: this JSON Schema cannot be used: $ref: only references inside the schema are followed",
    ],
    good: team({
      agent: '    options: { response_format: json_schema, response_schema: \'{"type": "object"}\' }',
    }),
  },
  {
    code: "exclusive_keys",
    bad: team({ agent: "    reasoning: { effort: low, budget_tokens: 2048 }" }),
    says: ["team.yaml:9:16 error exclusive_keys agents[0].reasoning: set effort or budget_tokens, not both"],
    good: team({ agent: "    reasoning: { effort: low }" }),
  },
  {
    code: "empty_list",
    bad: "providers: []\nagents:\n  - name: guide\n",
    says: ["team.yaml:1:12 error empty_list providers: this list needs at least one entry"],
    good: team(),
  },
  {
    code: "duplicate_name",
    bad: team({ agent: "  - name: Guide" }),
    says: ['team.yaml:9:11 error duplicate_name agents[1].name: "Guide" and "guide" differ only in case'],
    good: team({ agent: "  - name: Guides" }),
  },
  {
    code: "duplicate_setting",
    bad: team({ agent: "    reasoning: { effort: low }\n    options: { reasoning_effort: high }" }),
    says: [
      "team.yaml:10:16 error duplicate_setting agents[0].options.reasoning_effort: reasoning.effort already sets this\n  keep one of the two",
    ],
    good: team({ agent: "    options: { reasoning_effort: high }" }),
  },
  {
    code: "name_conflict",
    bad: team(),
    says: [
      'extensions.ts:1:1 error name_conflict toolboxes[0].tools[0]: "fs_read" is a built-in tool\n  set replaces: true if it is meant to replace that one',
    ],
    good: team({ agent: `${second}\n    toolboxes: [mine]` }),
    badOptions: toolbox("mine", [tool("fs_read")]),
    goodOptions: toolbox("mine", [tool("fs_read", true)]),
  },
  {
    code: "unknown_provider",
    bad: team({ agent: "    provider: mian" }),
    says: [
      'team.yaml:9:15 error unknown_provider agents[0].provider: there is no provider "mian"\n  did you mean "main"? known: main',
    ],
    good: team({ agent: "    provider: main" }),
  },
  {
    code: "unknown_provider",
    bad: team({ agent: "    provider: anthropic\n  - name: scout\n    provider: openai" }),
    says: [
      'team.yaml:9:15 error unknown_provider agents[0].provider: there is no provider "anthropic"\n  did you mean "main", whose kind is anthropic?',
      'team.yaml:11:15 error unknown_provider agents[1].provider: there is no provider "openai"\n  add a provider of the kind openai to providers',
    ],
    good: team({ agent: "    provider: main" }),
  },
  {
    code: "wrong_type",
    bad: team({
      agent: "    permissions:\n      - { act: delete, action: deny }",
    }).replace("[filesystem]", "[notes, [search]]"),
    says: [
      "team.yaml:8:24 error wrong_type agents[0].toolboxes[1]: expected a text or a map, found a list\n  a list in a list is not joined with it: write its entries out",
      "team.yaml:10:7 error wrong_type agents[0].permissions: expected a map, found a list\n  the map has the keys preset, rules, after_untrusted",
    ],
    good: team({
      agent: "    permissions:\n      rules:\n        - { act: delete, action: deny }",
    }).replace("[filesystem]", "[notes, search]"),
  },
  {
    code: "unknown_provider_kind",
    bad: team().replace("kind: anthropic", "kind: antropic"),
    says: [
      'team.yaml:3:11 error unknown_provider_kind providers[0].kind: there is no provider kind "antropic"\n  did you mean "anthropic"? known: anthropic, openai, grok, gemini, workers-ai, openai-compatible, scripted',
    ],
    good: team(),
  },
  {
    code: "unknown_agent",
    bad: team({ top: "entry_agent: giude" }),
    says: [
      'team.yaml:9:14 error unknown_agent entry_agent: there is no agent "giude"\n  did you mean "guide"? known: guide',
    ],
    good: team({ top: "entry_agent: guide" }),
  },
  {
    code: "unknown_toolbox",
    bad: team().replace("[filesystem]", "[filesytem]"),
    says: [
      'team.yaml:8:17 error unknown_toolbox agents[0].toolboxes[0]: there is no toolbox "filesytem"\n  did you mean "filesystem"? known: ask, filesystem, search, exec, git, http, browser, state, tasks, notes, agents',
    ],
    good: team(),
  },
  {
    code: "unknown_tool",
    bad: team().replace("[filesystem]", "[{ name: filesystem, tools: [fs_raed] }]"),
    says: [
      'team.yaml:8:45 error unknown_tool agents[0].toolboxes[0].tools[0]: the toolbox filesystem has no tool "fs_raed"\n  did you mean "fs_read"?',
    ],
    good: team().replace("[filesystem]", "[{ name: filesystem, tools: [fs_read] }]"),
  },
  {
    code: "unknown_skill",
    bad: { "team.yaml": team({ agent: "    skills: [reveiw]" }), "skills/review/SKILL.md": "Look." },
    says: [
      'team.yaml:9:14 error unknown_skill agents[0].skills[0]: there is no skill "reveiw"\n  did you mean "review"? known: review',
    ],
    good: { "team.yaml": team({ agent: "    skills: [review]" }), "skills/review/SKILL.md": "Look." },
  },
  {
    code: "unknown_effect",
    bad: team({ agent: "    effects: [{ kind: compct }]" }),
    says: [
      'team.yaml:9:23 error unknown_effect agents[0].effects[0].kind: there is no effect "compct"\n  did you mean "compact"? known: tool_scope, observation_mask, sliding_window, compact, trim_tool_results, loop_detect, reflection, progress, token_budget, time_budget, offload, stall_detect',
    ],
    good: team({ agent: "    effects: []" }),
  },
  {
    code: "unknown_guard",
    bad: team({ agent: "    guards: { tool_loop: false }" }),
    says: [
      'team.yaml:9:15 error unknown_guard agents[0].guards.tool_loop: there is no guard "tool_loop"\n  did you mean "tool_loops"? known: tool_loops, context_window, budget',
    ],
    good: team({ agent: "    guards: { tool_loops: false }" }),
  },
  {
    code: "fallback_cycle",
    bad: backup("[main]"),
    says: [
      "team.yaml:6:16 error fallback_cycle providers[0].fallbacks: fallbacks lead back to where they began: main, backup",
    ],
    good: backup("[]"),
  },
  {
    code: "fallback_cycle",
    bad: team({ provider: "    fallbacks: [main]" }),
    says: [
      "team.yaml:6:17 error fallback_cycle providers[0].fallbacks[0]: main would be asked again for the model that has just failed\n  name another provider, or another model of this one",
    ],
    good: team({ provider: "    fallbacks: [{ provider: main, model: claude-haiku-4-5 }]" }),
  },
  {
    code: "fallback_cycle",
    bad: team({
      agent: "    model: claude-haiku-4-5\n    fallbacks: [{ provider: main, model: claude-haiku-4-5 }]",
    }),
    says: [
      "team.yaml:10:17 error fallback_cycle agents[0].fallbacks[0]: main would be asked again for the model that has just failed\n  name another provider, or another model of this one",
    ],
    good: team({ agent: "    model: claude-haiku-4-5\n    fallbacks: [main]" }),
  },
  {
    code: "duplicate_name",
    bad: { "team.yaml": team({ agent: "    skills: [review, review]" }), "skills/review/SKILL.md": "Look." },
    says: ['team.yaml:9:22 error duplicate_name agents[0].skills[1]: the skill "review" is listed twice'],
    good: { "team.yaml": team({ agent: "    skills: [review]" }), "skills/review/SKILL.md": "Look." },
  },
  {
    code: "invalid_reference",
    bad: team({ provider: "    base_url: https://${HOST-NAME}/v1" }),
    says: [
      "team.yaml:6:15 error invalid_reference providers[0].base_url: a reference is written ${NAME}, with letters, digits and _\n  write ${HOST_NAME}; $${ stands for a literal ${",
    ],
    good: team({ provider: "    base_url: https://example.com/$${x}" }),
  },
  {
    code: "invalid_reference",
    bad: team().replace("${KEY}", "$KEY"),
    says: [
      "team.yaml:4:14 error invalid_reference providers[0].api_key: $KEY is plain text here\n  write ${KEY}",
    ],
    good: team({ provider: "    base_url: https://example.com/$5/$$/$metadata/$${x}" }),
  },
  {
    code: "reserved_reference",
    bad: team().replace("${KEY}", "${LIMPET_ADMIN_KEY}"),
    says: [
      "team.yaml:4:14 error reserved_reference providers[0].api_key: LIMPET_ADMIN_KEY belongs to the runtime\n  names that begin with LIMPET_ cannot be referenced",
    ],
    good: team().replace("${KEY}", "${LIMPETS_KEY}"),
  },
  {
    code: "context_window_too_small",
    bad: team({ provider: "    context_window: 15999" }),
    says: [
      "team.yaml:6:21 error context_window_too_small providers[0].context_window: the context window of claude-sonnet-5-5 for guide has 15999 tokens, at least 16000 are needed\n  use a larger model, or set guards.context_window.minimum",
    ],
    good: team({
      provider: "    context_window: 15999",
      agent: "    guards: { context_window: { minimum: 0, warning: 0 } }",
    }),
  },
  {
    code: "context_too_large",
    bad: {
      "team.yaml": team({ top: "context: { max_chars: 5 }" }),
      "context/a.md": "abc",
      "context/b.md": "def",
    },
    says: [
      "context/b.md:1:1 error context_too_large: the project context has 8 characters, at most 5 are allowed: context/a.md 3, context/b.md 3\n  shorten it, or raise context.max_chars",
    ],
    good: {
      "team.yaml": team({ top: "context: { max_chars: 8 }" }),
      "context/a.md": "abc",
      "context/b.md": "def",
    },
  },
  {
    code: "threshold_unreachable",
    bad: team({ agent: "    options: { max_iterations: 10, warn_iterations: 10 }" }),
    says: [
      "team.yaml:9:53 error threshold_unreachable agents[0].options.warn_iterations: a warning from turn 10 on never comes before the end after 10 turns\n  set it below max_iterations",
    ],
    good: team({ agent: "    options: { max_iterations: 10, warn_iterations: 9 }" }),
  },
  {
    code: "threshold_unreachable",
    bad: team({ agent: "    guards: { tool_loops: { enabled: true, history_size: 10 } }" }),
    says: [
      "team.yaml:9:29 error threshold_unreachable agents[0].guards.tool_loops.critical_threshold: a history of 10 never holds 20 calls",
    ],
    good: team({ agent: "    guards: { tool_loops: { enabled: false, history_size: 10 } }" }),
  },
  {
    code: "unbounded_agent",
    bad: team({ agent: "    options: { max_iterations: 0 }" }),
    says: [
      "team.yaml:9:32 error unbounded_agent agents[0].options.max_iterations: guide has neither a turn limit nor a budget\n  set a limit in guards.budget, or max_iterations above 0",
    ],
    good: team({ agent: `    options: { max_iterations: 0 }\n${budget("max_tokens: 1000")}` }),
  },
  {
    code: "budget_without_price",
    bad: team({ agent: `    model: mystery\n${budget("max_cost_usd: 1")}` }),
    says: [
      "team.yaml:10:39 error budget_without_price agents[0].guards.budget.max_cost_usd: a cost limit cannot hold: the price of mystery is not known\n  set models.mystery.price, or max_tokens instead",
    ],
    good: team({ agent: budget("max_cost_usd: 1") }),
  },
  {
    code: "skill_invalid",
    bad: skill("---\nname: [a]\n---\nLook."),
    says: ["skills/review/SKILL.md:2:7 error skill_invalid name: name must be a text"],
    good: skill("---\nname: a\n---\nLook."),
  },
  {
    code: "script_invalid",
    bad: scripted("script: 1\nreplies:\n  - reply: [{ call: pick_colour, args: { from: sea } }]\n"),
    says: [
      "scripts/tour.yaml:3:21 error script_invalid replies[0].reply[0].call: unknown tool pick_colour\n  a tool that the session's client brings is named in client_tools of the script",
    ],
    good: scripted(
      "script: 1\nclient_tools: [pick_colour]\nreplies:\n  - reply: [{ call: pick_colour, args: { from: sea } }]\n",
    ),
  },
  {
    code: "script_invalid",
    bad: scripted("script: 1\nreplies:\n  - reply: [{ call: fs_wriet, args: {} }]\n"),
    says: [
      'scripts/tour.yaml:3:21 error script_invalid replies[0].reply[0].call: unknown tool fs_wriet\n  did you mean "fs_write"?',
    ],
    good: scripted("script: 1\nreplies:\n  - reply: [{ call: fs_write, args: { path: a, content: b } }]\n"),
  },
  {
    code: "script_invalid",
    bad: scripted("script: 1\nscenes:\n  - { name: a, wen: { turn: 1 }, reply: [{ text: hi }] }\n"),
    says: [
      'scripts/tour.yaml:3:16 error script_invalid scenes[0].wen: unknown key "wen"\n  did you mean "when"? known: name, when, reply, finish, fail, stall_ms, usage, expect',
    ],
    good: scripted("script: 1\nscenes:\n  - { name: a, when: { turn: 1 }, reply: [{ text: hi }] }\n"),
  },
  {
    code: "extension_invalid",
    bad: team(),
    says: [
      "extensions.ts:1:1 error extension_invalid toolboxes[0].tools[0]: this is not a tool; create it with defineTool",
    ],
    good: team({ agent: `${second}\n    toolboxes: [mine]` }),
    badOptions: toolbox("mine", [{ name: "mine_read" }]),
    goodOptions: toolbox("mine", [tool("mine_read")]),
  },
  {
    code: "not_available",
    bad: team({ top: "sandbox: { idle: 1m }" }),
    says: [
      "team.yaml:9:12 error not_available sandbox.idle: this release cannot put a sandbox away; a resting one holds nothing\n  remove idle",
    ],
    good: team(),
  },
  {
    code: "secret_in_file",
    bad: team().replace("${KEY}", "sk-123"),
    says: [
      "team.yaml:4:14 error secret_in_file providers[0].api_key: a secret must not be written in a file\n  write ${ANTHROPIC_API_KEY} and set it: wrangler secret put ANTHROPIC_API_KEY --env acme; a local one may have allow_literal_secrets: true",
    ],
    good: team({ provider: "    allow_literal_secrets: true" }).replace("${KEY}", "sk-123"),
  },
  ...warnings,
];
