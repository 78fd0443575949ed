import * as z from "zod";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { defineGuard, defineMiddleware } from "../../src/agent/definition/guard.ts";
import type { Fixture } from "./fixtures.ts";
import { scripted, team } from "./support.ts";

const second = "  - name: helper";
const clerk = (depth: number): string =>
  `  - name: clerk\n    options: { max_delegation_depth: ${depth} }\n    delegation: { may_call: [helper] }`;
const declares = (...names: readonly string[]): Fixture["badOptions"] & object => ({
  declared: { place: { file: "wrangler.toml", line: 8, column: 1 }, names: new Set(names) },
});

const params = z.strictObject({});
/** What `extensions.ts` exports: one definition of each kind that an agent has to name. */
const unused = {
  toolboxes: [{ name: "sea", description: "The sea.", tools: [] }],
  effects: [
    defineEffect({ kind: "tide_note", phase: "before_complete", order: "inject", params, run: () => ({}) }),
  ],
  guards: [defineGuard({ kind: "tide_gate", params, before: () => ({ do: "allow" }) })],
  middleware: [defineMiddleware({ kind: "tide_log", params, start: () => ({}) })],
};

/** A fixture for each code of a warning. */
export const warnings: readonly Fixture[] = [
  {
    code: "empty_value",
    bad: team({ agent: '    options: { question_timeout: "", command_timeout: }' }),
    says: [
      'team.yaml:9:16 warning empty_value agents[0].options.question_timeout: "question_timeout" has no value, so it counts as absent\n  remove it, or give it a value',
      'team.yaml:9:38 warning empty_value agents[0].options.command_timeout: "command_timeout" has no value, so it counts as absent\n  remove it, or give it a value',
    ],
    good: team({ agent: "    options: { question_timeout: 1h }" }),
  },
  {
    code: "reference_not_expanded",
    bad: team({ agent: "    instructions: Use ${KEY}." }),
    says: [
      "team.yaml:9:19 warning reference_not_expanded agents[0].instructions: ${KEY} is plain text here\n  references are expanded only in addresses, keys, headers and the like",
    ],
    good: team({ agent: "    instructions: Charge $5 for ${X}, not $x or $$." }),
  },
  {
    code: "reference_not_expanded",
    bad: {
      "team.yaml": team(),
      "context/house.md": "# House\n\nWe are ${COMPANY}.\n\n```sh\ncurl -H ${KEY} ${HOME}\n```\n",
      "skills/review/SKILL.md": "---\ndescription: For ${CITY}\n---\nLook.\n",
    },
    says: [
      "context/house.md:3:8 warning reference_not_expanded: ${COMPANY} is plain text here\n  write what it stands for, or put it between backquotes if it is meant as it is",
      "context/house.md:6:9 warning reference_not_expanded: ${KEY} is plain text here\n  secrets are read only by addresses, keys, headers and the like of team.yaml",
      "skills/review/SKILL.md:2:18 warning reference_not_expanded: ${CITY} is plain text here\n  write what it stands for, or put it between backquotes if it is meant as it is",
    ],
    good: {
      "team.yaml": team(),
      "context/house.md": "Say `echo ${HOME}` or $5.\n\n```sh\necho ${HOME}\n```\n",
    },
  },
  {
    code: "unused_provider",
    bad: team({ provider: "  - name: other\n    kind: openai\n    model: gpt-6.1-sol" }),
    says: ["team.yaml:6:11 warning unused_provider providers[1].name: no agent uses the provider other"],
    good: team({
      provider: "  - name: other\n    kind: openai\n    model: gpt-6.1-sol",
      agent: `${second}\n    provider: other`,
    }),
  },
  {
    code: "unused_server",
    bad: team({ top: "mcp_servers:\n  - { name: far, url: 'https://h.example/mcp' }" }),
    says: [
      "team.yaml:10:13 warning unused_server mcp_servers[0].name: no agent uses the server far\n  add far to the toolboxes of an agent",
    ],
    good: team({
      agent: `${second}\n    toolboxes: [far]`,
      top: "mcp_servers:\n  - { name: far, url: 'https://h.example/mcp' }",
    }),
  },
  {
    code: "unused_skill",
    bad: { "team.yaml": team({ agent: "    skills: none" }), "skills/review/SKILL.md": "Look." },
    says: ["skills/review/SKILL.md:1:1 warning unused_skill: no agent knows the skill review"],
    good: { "team.yaml": team(), "skills/review/SKILL.md": "Look." },
  },
  {
    code: "unused_extension",
    bad: team(),
    badOptions: { extensions: { exports: unused } },
    says: [
      "extensions.ts:1:1 warning unused_extension toolboxes[0]: no agent uses the toolbox sea\n  add sea to the toolboxes of an agent, or of defaults",
      "extensions.ts:1:1 warning unused_extension effects[0]: no agent uses the effect tide_note\n  add { kind: tide_note } to the effects of an agent, or of defaults",
      "extensions.ts:1:1 warning unused_extension guards[0]: no agent uses the guard tide_gate\n  add tide_gate: {} to the guards of an agent, or of defaults",
      "extensions.ts:1:1 warning unused_extension middleware[0]: no agent uses the middleware tide_log\n  add { kind: tide_log } to the middleware of an agent, or of defaults",
    ],
    good: team({
      agent: `${second}\n    toolboxes: [sea]\n    guards: { tide_gate: false }\n    middleware: [{ kind: tide_log }]`,
      top: "defaults: { effects: [{ kind: tide_note }] }",
    }),
    goodOptions: { extensions: { exports: unused } },
  },
  {
    code: "unused_file",
    bad: { "team.yaml": team(), "notes.txt": "x" },
    says: ["notes.txt:1:1 warning unused_file: nothing reads this file"],
    good: { "team.yaml": team(), "context/notes.md": "x" },
  },
  {
    code: "key_ignored",
    bad: team({ top: "filesystem: { permissions_file: p.yaml }" }),
    says: [
      "team.yaml:9:15 warning key_ignored filesystem.permissions_file: permissions are configured here, with permissions",
    ],
    good: team({ top: "filesystem: {}" }),
  },
  {
    code: "key_ignored",
    bad: team({
      provider:
        "  - name: other\n    kind: anthropic\n    model: claude-sonnet-5-5\n    compat: { images: true, think_tags: true }",
      agent: `${second}\n    provider: other`,
    }),
    says: [
      "team.yaml:9:29 warning key_ignored providers[1].compat.think_tags: anthropic does not speak the API that this is about",
    ],
    good: team({
      provider:
        "  - name: other\n    kind: anthropic\n    model: claude-sonnet-5-5\n    compat: { images: true }",
      agent: `${second}\n    provider: other`,
    }),
  },
  {
    code: "needs_sandbox_process",
    bad: team({ top: "mcp_servers:\n  - { name: web, command: mcp-web }" }).replace("[filesystem]", "[web]"),
    says: [
      "team.yaml:10:18 warning needs_sandbox_process mcp_servers[0].command: the server web is a program: it is available only where the sandbox can run processes\n  use url for a server that is reachable over HTTP",
    ],
    good: team(),
  },
  {
    code: "tool_access_typo",
    bad: team({ agent: "    options: { tool_access: nnoe }" }),
    says: [
      "team.yaml:9:29 warning tool_access_typo agents[0].options.tool_access: any text here disables all tools\n  write none if that is intended, or remove the key",
    ],
    good: team({ agent: "    options: { tool_access: none }" }),
  },
  {
    code: "context_window_small",
    bad: team({ provider: "    context_window: 16000" }),
    says: [
      "team.yaml:6:21 warning context_window_small providers[0].context_window: the context window of claude-sonnet-5-5 for guide has 16000 tokens, fewer than 32000",
    ],
    good: team({ provider: "    context_window: 32000" }),
  },
  {
    code: "unpriced_model",
    bad: team({ agent: "    model: mystery", top: "budgets: { run: { max_cost_usd: 2 } }" }),
    says: [
      "team.yaml:9:12 warning unpriced_model agents[0].model: the price of mystery is not known, so its calls count in tokens only\n  set models.mystery.price",
    ],
    good: team({ agent: "    model: mystery", top: "budgets: { run: { max_cost_usd: off } }" }),
  },
  {
    code: "unpriced_model",
    bad: team({ agent: "    model: claude-sonet-5-5" }),
    says: [
      'team.yaml:9:12 warning unpriced_model agents[0].model: the price of claude-sonet-5-5 is not known, so its calls count in tokens only\n  did you mean "claude-sonnet-5-5"? Otherwise set models.claude-sonet-5-5.price',
    ],
    good: team({ agent: "    model: claude-sonnet-5-5" }),
  },
  {
    code: "unpriced_model",
    bad: team({ agent: "    model: claude-fable-5-2" }),
    says: [
      "team.yaml:9:12 warning unpriced_model agents[0].model: the price of claude-fable-5-2 is not known, so that of claude-fable-5 is taken for it\n  set models.claude-fable-5-2.price",
    ],
    good: team({
      agent: "    model: claude-fable-5-2",
      top: "models: { claude-fable-5-2: { price: { input: 10, output: 50 } } }",
    }),
  },
  {
    code: "unpriced_model",
    bad: team({
      agent: `    options: { max_delegation_depth: 1 }\n    guards: { budget: { max_cost_usd: 1 } }\n${second}\n    model: mystery`,
    }),
    says: [
      "team.yaml:12:12 warning unpriced_model agents[1].model: the price of mystery is not known, so its calls count in tokens only\n  set models.mystery.price",
    ],
    good: team({
      agent: `    guards: { budget: { max_cost_usd: 1 } }\n${second}\n    model: mystery`,
    }),
  },
  {
    code: "unpriced_model",
    bad: team({
      agent: `    options: { max_delegation_depth: 2 }\n    delegation: { may_call: [clerk] }\n    guards: { budget: { max_cost_usd: 1 } }\n${clerk(2)}\n${second}\n    model: mystery`,
    }),
    says: [
      "team.yaml:16:12 warning unpriced_model agents[2].model: the price of mystery is not known, so its calls count in tokens only\n  set models.mystery.price",
    ],
    good: team({
      agent: `    options: { max_delegation_depth: 2 }\n    delegation: { may_call: [clerk] }\n    guards: { budget: { max_cost_usd: 1 } }\n${clerk(1)}\n${second}\n    model: mystery`,
    }),
  },
  {
    code: "unpriced_model",
    bad: team({
      provider: '  - { name: short, kind: openai, api_key: "${KEY}", model: mystery }',
      agent: "    effects: [{ kind: compact, params: { summary_provider: short } }]",
      top: "budgets: { session: { max_cost_usd: 2 } }",
    }),
    says: [
      "team.yaml:6:60 warning unpriced_model providers[1].model: the price of mystery is not known, so its calls count in tokens only\n  set models.mystery.price",
    ],
    good: team({
      provider: '  - { name: short, kind: openai, api_key: "${KEY}", model: mystery }',
      agent: "    effects: [{ kind: compact, params: { summary_provider: short } }]",
    }),
  },
  {
    code: "unpriced_model",
    bad: team({ agent: "    model: mystery", top: "budgets: { unknown_price: refuse }" }),
    says: [
      "team.yaml:9:12 warning unpriced_model agents[0].model: the price of mystery is not known, so its calls are refused (budgets.unknown_price)\n  set models.mystery.price",
    ],
    good: team({ agent: "    model: mystery", top: "budgets: { unknown_price: warn }" }),
  },
  {
    code: "schema_not_strict",
    bad: team({
      agent:
        "    options: { response_format: json_schema, response_schema: { type: object, properties: { a: { type: string } } } }",
    }).replace("anthropic", "openai"),
    says: [
      "team.yaml:9:63 warning schema_not_strict agents[0].options.response_schema: the provider's strict mode does not accept this schema\n  list every property in required, set additionalProperties: false, give every value a type, and leave out defaults and rare keywords and formats",
    ],
    good: team({
      agent:
        "    options: { response_format: json_schema, response_schema: { type: object, properties: { a: { type: string } }, required: [a], additionalProperties: false } }",
    }).replace("anthropic", "openai"),
  },
  {
    code: "delegation_impossible",
    bad: team({ agent: "    options: { max_delegation_depth: 5 }" }),
    says: [
      "team.yaml:9:16 warning delegation_impossible agents[0].options.max_delegation_depth: there is no agent that guide may call",
    ],
    good: team({ agent: `    options: { max_delegation_depth: 5 }\n${second}` }),
  },
  {
    code: "delegation_impossible",
    bad: team({ agent: "    delegation: { async: true }" }),
    says: [
      "team.yaml:9:5 warning delegation_impossible agents[0].delegation: there is no agent that guide may call",
    ],
    good: team({ agent: `    delegation: { async: true }\n${second}` }),
  },
  {
    code: "effect_inert",
    bad: team({ agent: "    effects: [{ kind: progress }]" }),
    says: [
      "team.yaml:9:15 warning effect_inert agents[0].effects[0]: progress asks for a note, but the agent has no write_note\n  add notes to its toolboxes",
    ],
    good: team({ agent: "    effects: [{ kind: progress }]" }).replace("[filesystem]", "[filesystem, notes]"),
  },
  {
    code: "verify_inert",
    bad: team({ agent: "    options: { verify_on_breach: true }" }),
    says: [
      "team.yaml:9:16 warning verify_inert agents[0].options.verify_on_breach: nothing is checked at the turn limit without a verify_command\n  add verify_command, like npm test",
    ],
    good: team({ agent: "    options: { verify_on_breach: true, verify_command: npm test }" }),
  },
  {
    code: "verify_inert",
    bad: team({ agent: "    options: { verify_command: npm test, verify_broad_command: npm run all }" }),
    says: [
      "team.yaml:9:16 warning verify_inert agents[0].options.verify_command: nothing runs this command\n  add verify_after_edit: true or verify_on_breach: true",
      "team.yaml:9:42 warning verify_inert agents[0].options.verify_broad_command: nothing runs this command\n  add verify_after_edit: true",
    ],
    good: team({
      agent:
        "    options: { verify_command: npm test, verify_broad_command: npm run all, verify_after_edit: true }",
    }),
  },
  {
    code: "verify_inert",
    bad: team({
      agent:
        "    options: { max_iterations: 0, verify_on_breach: true, verify_command: npm test }\n    guards: { budget: { max_tokens: 9000 } }",
    }),
    says: [
      "team.yaml:9:35 warning verify_inert agents[0].options.verify_on_breach: without a limit of turns, turns are never used up\n  set max_iterations above 0",
    ],
    good: team({
      agent: "    options: { max_iterations: 5, verify_on_breach: true, verify_command: npm test }",
    }),
  },
  {
    code: "key_ignored",
    bad: team({
      agent:
        "    options: { max_iterations: 0, checkpoints: [{ fraction: 0.5, message: Half }] }\n    guards: { budget: { max_tokens: 9000 } }",
    }),
    says: [
      "team.yaml:9:35 warning key_ignored agents[0].options.checkpoints: without a limit of turns, it has no shares\n  set max_iterations above 0",
    ],
    good: team({ agent: "    options: { checkpoints: [{ fraction: 0.5, message: Half }] }" }),
  },
  {
    code: "key_ignored",
    bad: team({ agent: "    options: { response_schema: { type: object } }" }),
    says: [
      "team.yaml:9:16 warning key_ignored agents[0].options.response_schema: no answer is held to this schema without a response_format\n  add response_format: json_schema",
    ],
    good: team({ agent: "    options: { response_format: json_schema, response_schema: { type: object } }" }),
  },
  {
    code: "key_ignored",
    bad: team({ agent: `    delegation: { may_call: [guide, "h*", "cod*"] }\n${second}` }),
    says: [
      "team.yaml:9:30 warning key_ignored agents[0].delegation.may_call[0]: an agent never calls itself\n  remove it",
      'team.yaml:9:43 warning key_ignored agents[0].delegation.may_call[2]: no agent of this team fits "cod*"\n  known: guide, helper',
    ],
    good: team({ agent: `    delegation: { may_call: [helper, "h*", "*"] }\n${second}` }),
  },
  {
    code: "key_ignored",
    bad: team({ top: "default_context_windows: { anthropc: 50000, claude-sonnet-5-5: 50000 }" }),
    says: [
      'team.yaml:9:28 warning key_ignored default_context_windows.anthropc: there is no provider kind "anthropc"\n  did you mean "anthropic"? known: anthropic, openai, grok, gemini, workers-ai, openai-compatible, scripted',
      'team.yaml:9:45 warning key_ignored default_context_windows.claude-sonnet-5-5: there is no provider kind "claude-sonnet-5-5"\n  write models: { claude-sonnet-5-5: { context_window: … } } for the window of a model',
    ],
    good: team({ top: "default_context_windows: { anthropic: 50000, gemini: 50000 }" }),
  },
  {
    code: "key_ignored",
    bad: team({
      agent: "    permissions: { rules: [{ tool: fs_move, action: ask, expires: 2026-06-01 }] }",
      top: "permissions: { rules: [{ act: delete, action: deny, expires: 2026-01-31 }] }",
    }),
    badOptions: { now: Date.parse("2026-06-02") },
    says: [
      "team.yaml:9:67 warning key_ignored agents[0].permissions.rules[0].expires: the rule has expired: it asks about nothing any more\n  remove the rule, or write a later date",
      "team.yaml:10:62 warning key_ignored permissions.rules[0].expires: the rule has expired: it forbids nothing any more\n  remove the rule, or write a later date",
    ],
    good: team({
      top: "permissions: { rules: [{ act: delete, action: deny, expires: 2026-07-01 }] }",
    }),
    goodOptions: { now: Date.parse("2026-06-02") },
  },
  {
    code: "verify_inert",
    bad: team({ agent: "    options: { verify_after_edit: true, localize: true }" }).replace(
      "[filesystem]",
      "[notes]",
    ),
    says: [
      "team.yaml:9:16 warning verify_inert agents[0].options.verify_after_edit: the agent has no tool that edits files, so nothing is checked\n  add filesystem to its toolboxes, or remove this",
      "team.yaml:9:41 warning key_ignored agents[0].options.localize: the agent has no tool for the files that it would be shown\n  add filesystem to its toolboxes, or remove this",
    ],
    good: team({ agent: "    options: { verify_after_edit: true, localize: true }" }),
  },
  {
    code: "unused_file",
    bad: { "team.yaml": team(), "tests/guide.test.ts": "x" },
    says: [
      "tests/guide.test.ts:1:1 warning unused_file: nothing reads this file\n  move it beside team.yaml: guide.test.ts",
    ],
    good: { "team.yaml": team(), "guide.test.ts": "x" },
  },
  {
    code: "undeclared_secret",
    bad: team(),
    badOptions: declares("LIMPET_ADMIN_KEY"),
    says: [
      'wrangler.toml:8:1 warning undeclared_secret: the team needs KEY, which its environment does not declare, so wrangler does not read it from .dev.vars\n  declare them there: secrets = { required = ["LIMPET_ADMIN_KEY", "KEY"] }',
    ],
    good: team(),
    goodOptions: declares("LIMPET_ADMIN_KEY", "KEY"),
  },
  {
    code: "rule_gap",
    bad: team({
      agent: "    permissions: { rules: [{ tool: fs_delete, action: ask }] }",
    }).replace("[filesystem]", "[filesystem, exec]"),
    says: [
      "team.yaml:9:28 warning rule_gap agents[0].permissions.rules[0]: guide has other tools that reach what this guards (delete): apply_patch, fs_move, fs_copy, exec_run, exec_shell\n  name the act: { act: delete, … }; for commands: writable_paths without these files, or a rule { act: exec, action: ask }",
    ],
    good: team({
      agent: "    permissions: { rules: [{ act: delete, action: ask }, { act: exec, action: ask }] }",
    }).replace("[filesystem]", "[filesystem, exec]"),
  },
  {
    code: "script_arguments",
    bad: scripted(
      "script: 1\nreplies:\n  - reply: [{ call: fs_write, args: { paht: a.md, content: x } }]\n  - reply: [{ call: fs_write, args: { path: '{{input}}' } }, { call: fs_read_lines, args: { path: a, offset: '{{last}}', limit: ten } }]\n",
    ),
    says: [
      'scripts/tour.yaml:3:39 warning script_arguments replies[0].reply[0].args.paht: fs_write: unknown key "paht"\n  did you mean "path"? known: path, content',
      'scripts/tour.yaml:4:39 warning script_arguments replies[1].reply[0].args.content: fs_write: "content" is required here\n  if the tool is to refuse them, write them as raw_args',
      "scripts/tour.yaml:4:129 warning script_arguments replies[1].reply[1].args.limit: fs_read_lines: expected a number, found a text\n  write digits, without words or a unit",
    ],
    good: scripted(
      "script: 1\nreplies:\n  - reply: [{ call: fs_write, args: { path: '{{input}}', content: x } }, { call: fs_write, raw_args: '{' }]\n",
    ),
  },
  {
    code: "private_address",
    bad: team({
      provider: "    base_url: http://127.0.0.1:11434/v1",
      top: "mcp_servers: [{ name: kb, url: 'https://kb.internal/mcp?key=${KB_KEY}' }]",
    }).replace("[filesystem]", "[kb]"),
    says: [
      "team.yaml:6:15 warning private_address providers[0].base_url: 127.0.0.1:11434 is not public, so only the operator can open it\n  add 127.0.0.1:11434 to LIMPET_PRIVATE_EGRESS, in .dev.vars.acme for this machine, in wrangler.toml for a deployment",
      "team.yaml:10:32 warning private_address mcp_servers[0].url: kb.internal:443 is not public, so only the operator can open it\n  add kb.internal:443 to LIMPET_PRIVATE_EGRESS, in .dev.vars.acme for this machine, in wrangler.toml for a deployment",
    ],
    good: team({
      provider: "    base_url: https://models.example.com/v1",
      top: "mcp_servers: [{ name: kb, url: 'http://${KB_HOST}/mcp' }]",
    }).replace("[filesystem]", "[kb]"),
  },
];
