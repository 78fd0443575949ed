import { includesAct } from "../../sandbox/contract.ts";
import { workspacePath } from "../../sandbox/paths.ts";
import { leavesOut, narrowPaths, writableFrom } from "../../sandbox/writable.ts";
import { gitCommit } from "../../toolboxes/git/git-commit.ts";
import { actsOf, boundActsOf, isFileAct } from "../../tools/acts.ts";
import type { Act } from "../../tools/acts.ts";
import type { Tool } from "../../tools/define-tool.ts";
import { expiryOf, isUnexpired, namesTool, verdict } from "../../tools/permission.ts";
import type { Path } from "../document/diagnostics.ts";
import type { AgentShape, TeamDraft } from "../draft.ts";
import { builtInDefinitions } from "../known.ts";
import { toolsOfAgents } from "./agent-tools.ts";

/** Finds permission rules that an agent can bypass with another tool. */

type Rule = TeamDraft["sections"]["permissions"]["rules"][number];

/** Act that a rule forbids or asks about. */
interface Guard {
  readonly rule: Rule;
  readonly act: Act;
}

/** Everything that decides about the calls of an agent. */
interface Bounds {
  readonly draft: TeamDraft;
  readonly agent: AgentShape;
  readonly rules: readonly Rule[];
}

const severity = { allow: 0, ask: 1, deny: 2 } as const;

/** Returns what a rule guards: its act, or the main acts of the tools that it names. */
const guardsOf = (draft: TeamDraft, rule: Rule): readonly Guard[] => {
  if (rule.action === "allow") return [];
  if (rule.act !== undefined) return [{ rule, act: rule.act }];
  const named = [...draft.definitions.values()].filter(({ name }) => namesTool(rule, name, []));
  const first = named.flatMap((tool) => boundActsOf(tool).slice(0, 1));
  return [...new Set(first)].map((act) => ({ rule, act }));
};

/** Returns whether a tool is a command, which may do anything to files; a commit only records files. */
const isCommand = (tool: Tool): boolean => actsOf(tool).includes("exec") && tool.name !== gitCommit.name;

/** Returns the acts by which a tool reaches the guarded act. */
const waysOf = (tool: Tool, { act }: Guard): readonly Act[] => [
  ...actsOf(tool).filter((done) => includesAct(act, done)),
  ...(isFileAct(act) && isCommand(tool) ? ["exec" as const] : []),
];

/** Returns whether a pattern covers everything that another pattern covers. */
const isWithin = (wide: string | undefined, narrow: string | undefined, act: Act): boolean => {
  if (wide === undefined || wide === "*" || wide === narrow) return true;
  return narrow !== undefined && isFileAct(act) && narrowPaths([wide], [narrow]).includes(narrow);
};

const outlasts = (rule: Rule, guarding: Rule): boolean => expiryOf(rule) >= expiryOf(guarding);

/** Returns whether a rule restricts one act of a tool as strictly as the guard. */
const holds = (rule: Rule, tool: Tool, way: Act, { rule: guarding, act }: Guard): boolean => {
  if (severity[rule.action] < severity[guarding.action] || !outlasts(rule, guarding)) return false;
  const bound = boundActsOf(tool).filter((done) => done === way);
  if (!namesTool(rule, tool.name, bound)) return false;
  if (tool.name === "exec_shell") return true;
  // A command line does not show the files that the command uses.
  const isPathless = way === "exec" && isFileAct(act);
  return isPathless ? isWithin(rule.match, undefined, way) : isWithin(rule.match, guarding.match, way);
};

const toolboxOf = (draft: TeamDraft, name: string): string =>
  [...draft.toolboxes].find(([, tools]) => tools.includes(name))?.[0] ?? "core";

/** Returns whether the preset alone is as strict, and no rule allows anything of the tool. */
const holdsByPreset = ({ draft, agent, rules }: Bounds, tool: Tool, way: Act, { rule }: Guard): boolean => {
  const allowed = rules.some(
    (each) => each.action === "allow" && namesTool(each, tool.name, boundActsOf(tool)),
  );
  if (allowed) return false;
  const preset = agent.permissions?.preset ?? draft.sections.permissions.preset;
  const isRead = tool.workspace === "read";
  const found = verdict(
    { preset, rules: [], grants: [], hosts: draft.sections.egress.allow, afterUntrusted: "off" },
    {
      tool: tool.name,
      toolbox: toolboxOf(draft, tool.name),
      subjects: [],
      ...(tool.acts === null ? {} : { acts: [{ act: way, subject: "" }] }),
      safety: isRead ? "read" : "unsafe",
      now: 0,
    },
  );
  return severity[found.verdict] >= severity[rule.action];
};

const isHeld = (bounds: Bounds, tool: Tool, way: Act, guard: Guard): boolean =>
  bounds.rules.some((rule) => holds(rule, tool, way, guard)) || holdsByPreset(bounds, tool, way, guard);

/** Returns an agent's `writable_paths` relative to the workspace's root. */
const writableOf = ({ options: { working_dir: directory, writable_paths: paths } }: AgentShape) =>
  paths && writableFrom(workspacePath(directory), paths);

/** Returns whether `writable_paths` keep a built-in tool from the guarded act. */
const isUnwritable = ({ agent }: Bounds, { name }: Tool, { act, rule }: Guard): boolean =>
  builtInDefinitions.has(name) && includesAct("write", act) && leavesOut(writableOf(agent), rule.match);

const isGap = (bounds: Bounds, tool: Tool, guard: Guard): boolean =>
  !isUnwritable(bounds, tool, guard) && waysOf(tool, guard).some((way) => !isHeld(bounds, tool, way, guard));

/** Returns how to restrict the tools that bypass a rule. */
const hintOf = (tools: readonly Tool[], { rule, act }: Guard): string => {
  const commands = tools.filter((tool) => isFileAct(act) && isCommand(tool));
  const undeclared = tools.filter((tool) => !commands.includes(tool) && tool.acts === null);
  const bindable = tools.length > commands.length + undeclared.length;
  const exec = `a rule { act: exec, action: ${rule.action} }`;
  return [
    ...(bindable ? [`name the act: { act: ${act}, … }`] : []),
    ...(undeclared.length === 0
      ? []
      : [
          `for ${undeclared.map(({ name }) => name).join(", ")}: a rule on that tool, or acts in its definition`,
        ]),
    ...(commands.length === 0
      ? []
      : [
          act === "read"
            ? `for commands: ${exec}`
            : `for commands: writable_paths without these files, or ${exec}`,
        ]),
  ].join("; ");
};

const checkRule = (bounds: Bounds, tools: readonly Tool[], path: Path, rule: Rule): void => {
  if (!bounds.rules.includes(rule)) return;
  for (const guard of guardsOf(bounds.draft, rule)) {
    const open = tools.filter((tool) => isGap(bounds, tool, guard));
    if (open.length === 0) continue;
    const what = `${guard.act}${rule.match === undefined ? "" : ` ${rule.match}`}`;
    const names = open.map(({ name }) => name).join(", ");
    const message = `${bounds.agent.name} has other tools that reach what this guards (${what}): ${names}`;
    bounds.draft.report("rule_gap", path, message, { hint: hintOf(open, guard) });
  }
};

/** Warns of every rule in force at `now` that forbids or asks about an act that an agent can do with other tools. */
export const checkRuleGaps = (draft: TeamDraft, now: number): void => {
  const toolsOf = toolsOfAgents(draft);
  const shared = draft.sections.permissions.rules;
  for (const { index, value: agent } of draft.agents) {
    const own = agent.permissions?.rules ?? [];
    const bounds = { draft, agent, rules: [...shared, ...own].filter((rule) => isUnexpired(rule, now)) };
    const names = toolsOf.get(agent.name) ?? new Set();
    const tools = [...draft.definitions.values()].filter(({ name }) => names.has(name));
    shared.forEach((rule, at) => checkRule(bounds, tools, ["permissions", "rules", at], rule));
    own.forEach((rule, at) => checkRule(bounds, tools, ["agents", index, "permissions", "rules", at], rule));
  }
};
