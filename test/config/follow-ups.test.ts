import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/dev-server.ts";
import { shippedYaml } from "../support/shipped.ts";
import { complaints, team } from "./support.ts";

/** One mistake is one diagnostic: what only follows from it is said once it is mended, if it is still true. */

const codesOf = async (
  yaml: string,
  more: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> =>
  (await complaints({ "team.yaml": yaml, ...more })).map((line) => line.split(" ").slice(2, 4).join(" "));

const two = team({
  provider: "  - name: crew\n    kind: scripted\n    model: m\n    script: { script: 1, replies: [{}] }",
  agent: "  - name: helper\n    provider: crew",
});

const mistakes: readonly (readonly [string, string, string, string])[] = [
  ["a misspelt section", "providers:", "providrs:", "unknown_key providrs:"],
  [
    "a misspelt key that is required",
    "    kind: scripted",
    "    kinde: scripted",
    "unknown_key providers[1].kinde:",
  ],
  ["a name that is none", "  - name: crew", "  - name: [crew]", "wrong_type providers[1].name:"],
  [
    "a kind that does not exist",
    "    kind: scripted",
    "    kind: scriptd",
    "unknown_provider_kind providers[1].kind:",
  ],
  ["a provider's wrong name", "  - name: crew", "  - name: the crew", "invalid_value providers[1].name:"],
];

test.each(mistakes)("CF-30: %s is one diagnostic", async (_, right, wrong, said) => {
  expect(await codesOf(two)).toEqual([]);
  expect(await codesOf(two.replace(right, wrong))).toEqual([said]);
});

test.each([
  ["    model: m\n", "    model: m\n    modle: n\n", "unknown_key providers[1].modle:"],
  ["    model: m\n", "", "missing_key providers[1].model:"],
  ["    kind: scripted", "    kind: 5", "wrong_type providers[1].kind:"],
])(
  "CF-30: an unknown provider is still said where nothing else explains it (%j → %j)",
  async (right, wrong, said) => {
    const yaml = two.replace("provider: crew", "provider: crewe").replace(right, wrong);
    expect(await codesOf(yaml)).toEqual([said, "unknown_provider agents[1].provider:"]);
  },
);

test("CF-30: an entry without its dash is not also unknown to all that name it", async () => {
  const yaml = shippedYaml("default").replace("  - name: builder\n", "    name: builder\n");
  const codes = new Set((await codesOf(yaml)).map((line) => line.split(" ")[0]));
  expect(codes).toEqual(new Set(["file_missing", "duplicate_key"]));
});

test("CF-30: of a name that stands twice, and of agents under a wrong key, their scripts say nothing", async () => {
  const yaml = shippedYaml("default");
  const scripts = Object.fromEntries(
    ["scripts/crew.yaml", "scripts/guide.yaml"].map((file) => [
      file,
      readFileSync(join(root, "config/default", file), "utf8"),
    ]),
  );
  const codes = (right: string, wrong: string) => codesOf(yaml.replace(right, wrong), scripts);
  expect(await codes("  - name: scout", "  - name: guide")).toEqual(["duplicate_name agents[1].name:"]);
  expect(await codes("\nagents:", "\nagents: []\nagentss:")).toEqual([
    "empty_list agents:",
    "unknown_key agentss:",
  ]);
  expect(await codes("fallbacks: [spare]", "fallbacks: [sparr]")).toEqual([
    "unknown_provider providers[0].fallbacks[0]:",
  ]);
});

const values: readonly (readonly [string, string, string, string])[] = [
  ["a number that is none", "model: m", "model: .nan", "invalid_value providers[1].model:"],
  [
    "no limit at all",
    "    provider: crew",
    "    options: { max_iterations: .inf }",
    "invalid_value agents[1].options.max_iterations:",
  ],
  ["a number that is not exact", "model: m", "model: 9007199254740993", "out_of_range providers[1].model:"],
  [
    "a number that is merged in",
    "    provider: crew",
    "    options: { <<: &o { max_iterations: .nan } }",
    "invalid_value agents[1].options.max_iterations:",
  ],
  ["an empty text for a section", "providers:", 'providers: ""\nx-providers:', "wrong_type providers:"],
  [
    "an address with $NAME for its host",
    "    kind: anthropic",
    "    kind: anthropic\n    base_url: http://$HOST/v1",
    "invalid_reference providers[0].base_url:",
  ],
  [
    "a threshold that is none",
    "    provider: crew",
    "    provider: crew\n    guards: { tool_loops: { warning_threshold: few, critical_threshold: 5 } }",
    "wrong_type agents[1].guards.tool_loops.warning_threshold:",
  ],
  [
    "a threshold's misspelt key",
    "    provider: crew",
    "    provider: crew\n    guards: { tool_loops: { warning: 3, critical_threshold: 5 } }",
    "unknown_key agents[1].guards.tool_loops.warning:",
  ],
  [
    "an answer's format that is none, beside its schema",
    "    provider: crew",
    "    provider: crew\n    options: { response_format: json, response_schema: { type: object } }",
    "invalid_value agents[1].options.response_format:",
  ],
  [
    "a toolbox that does not exist",
    "    provider: crew",
    "    provider: crew\n    toolboxes: [filesytem]\n    effects: [{ kind: progress }]\n    options: { verify_after_edit: true }",
    "unknown_toolbox agents[1].toolboxes[0]:",
  ],
];

const pairs: readonly (readonly [what: string, wrong: string, said: readonly string[]])[] = [
  [
    "a warning after the last turn, beside a wrong format",
    "options: { max_iterations: 9, warn_iterations: 20, response_format: jsn }",
    [
      "threshold_unreachable agents[1].options.warn_iterations:",
      "invalid_value agents[1].options.response_format:",
    ],
  ],
  [
    "checks without files, beside an agent that is not there",
    "delegation: { may_call: [ghost] }\n    options: { verify_after_edit: true }",
    ["unknown_agent agents[1].delegation.may_call[0]:", "verify_inert agents[1].options.verify_after_edit:"],
  ],
];

test.each(pairs)("CF-28: %s are two diagnostics", async (_, wrong, said) => {
  expect(await codesOf(two.replace("    provider: crew", `    provider: crew\n    ${wrong}`))).toEqual(said);
});

test.each(values)("CF-28: %s is one diagnostic", async (_, right, wrong, said) => {
  expect(two).toContain(right);
  expect(await codesOf(two.replace(right, wrong))).toEqual([said]);
});

test("CF-9: a list in the place of a provider's kind is a diagnostic", async () => {
  expect(await codesOf(team().replace("kind: anthropic", "kind: [1, { a: 2 }]"))).toEqual([
    "wrong_type providers[0].kind:",
  ]);
});
