import { isOfKind } from "../../effects/schema.ts";
import { globFault, matchesGlob } from "../../sandbox/glob.ts";
import { serverToolName } from "../../toolboxes/mcp/names.ts";
import { isFileAct } from "../../tools/acts.ts";
import { writeAddressPattern } from "../../tools/egress/address-pattern.ts";
import type { Path } from "../document/diagnostics.ts";
import type { Located } from "../document/document.ts";
import type { AgentShape, TeamDraft } from "../draft.ts";
import { builtInToolboxes } from "../known.ts";
import { nodeAt } from "../document/located.ts";
import { toolboxPlace } from "../document/other-words.ts";
import { createNearestFinder, createSuggester } from "../document/suggest.ts";
import type { Suggest } from "../document/suggest.ts";
import { namesOf } from "./names.ts";

/** Checks toolboxes, their tools, and settings for single tools. */

type ToolboxShape = AgentShape["toolboxes"][number];

/** Names that the checks compare with. */
interface KnownTools {
  readonly servers: readonly string[];
  readonly suggestToolbox: Suggest;
  readonly suggestTool: Suggest;
  /** Suggestions for the tools of each toolbox. */
  readonly suggestIn: ReadonlyMap<string, Suggest>;
  readonly nearestTool: (name: string) => string | null;
}

const knownToolsOf = (draft: TeamDraft): KnownTools => {
  const servers = namesOf(draft, "mcp_servers");
  const tools = [...draft.tools];
  return {
    servers,
    suggestToolbox: createSuggester([...draft.toolboxes.keys(), ...servers], toolboxPlace),
    suggestTool: createSuggester(tools),
    suggestIn: new Map([...draft.toolboxes].map(([name, own]) => [name, createSuggester(own)])),
    nearestTool: createNearestFinder(tools),
  };
};

/** Hint about toolboxes that are not built in. */
export const ownToolboxes = "toolboxes of your own are what extensions.ts exports as toolboxes";

/** Suggests a toolbox: the one that has such a tool, the nearest, or all and where others are defined. */
const suggestToolbox = (draft: TeamDraft, known: KnownTools, name: string): string => {
  const [owner] = [...draft.toolboxes].find(([, tools]) => tools.includes(name)) ?? [];
  if (owner !== undefined) return `it is a tool of the toolbox ${owner}`;
  const hint = known.suggestToolbox(name) ?? "";
  if (hint.startsWith("did you mean")) return hint;
  return hint === "" ? ownToolboxes : `${hint}; ${ownToolboxes}`;
};

const checkEntry = (draft: TeamDraft, path: Path, entry: ToolboxShape, known: KnownTools): void => {
  const object = nodeAt(draft.root, draft.writtenPath([...path, "name"])) !== undefined;
  const tools = draft.toolboxes.get(entry.name);
  if (tools === undefined && !known.servers.includes(entry.name)) {
    draft.report(
      "unknown_toolbox",
      object ? [...path, "name"] : path,
      `there is no toolbox "${entry.name}"`,
      { hint: suggestToolbox(draft, known, entry.name) },
    );
  }
  if (tools === undefined) return;
  entry.tools?.forEach((tool, index) => {
    if (tools.includes(tool)) return;
    draft.report(
      "unknown_tool",
      [...path, "tools", index],
      `the toolbox ${entry.name} has no tool "${tool}"`,
      { hint: known.suggestIn.get(entry.name)?.(tool) },
    );
  });
};

const toolsOf = (draft: TeamDraft, entry: ToolboxShape): readonly string[] =>
  (draft.toolboxes.get(entry.name) ?? []).filter((tool) => entry.tools?.includes(tool) ?? true);

/**
 * Returns whether a toolbox is built in; an extension's tool with a built-in's name replaces it or has been
 * reported.
 */
const isBuiltIn = (toolbox: string): boolean => Object.hasOwn(builtInToolboxes, toolbox);

const checkToolboxes = (draft: TeamDraft, index: number, agent: AgentShape, known: KnownTools): void => {
  const boxes = new Set<string>();
  const owner = new Map<string, string>();
  agent.toolboxes.forEach((entry, place) => {
    const path: Path = ["agents", index, "toolboxes", place];
    checkEntry(draft, path, entry, known);
    if (boxes.has(entry.name)) {
      draft.report("duplicate_name", path, `the toolbox "${entry.name}" is listed twice`);
      return;
    }
    boxes.add(entry.name);
    for (const tool of toolsOf(draft, entry)) {
      const other = owner.get(tool);
      if (other === undefined) owner.set(tool, entry.name);
      else if (isBuiltIn(other) !== isBuiltIn(entry.name)) continue;
      else {
        const message = `the toolboxes ${other} and ${entry.name} both have a tool "${tool}"`;
        draft.report("name_conflict", path, message, { hint: "list the tools you want with tools: [...]" });
      }
    }
  });
};

const wildcards = /[*?[]/;

/** Returns the name that models see of a server's tool if it is not the one in the team's file; null otherwise. */
const seenNameOf = (name: string, servers: readonly string[]): string | null => {
  const server = servers.find((each) => name.startsWith(`${each}__`));
  if (server === undefined) return null;
  if (wildcards.test(name)) return name.replace(/[^\w\\*?[\]!^-]/g, "_");
  return serverToolName(server, name.slice(server.length + 2));
};

/** Reports the name or pattern of a server's tool that fits none, since models see tools under other names. */
const checkServerTool = (
  draft: TeamDraft,
  path: Path,
  name: string,
  { servers }: KnownTools,
  which: "key" | "value" = "value",
): void => {
  const seen = seenNameOf(name, servers);
  if (seen === null || seen === name) return;
  const message = `no tool is named "${name}": other characters than letters, digits, _ and - become _, and a long name is cut`;
  draft.report("unknown_tool", path, message, { which, hint: `write ${seen}` });
};

/** Checks tools that are keys of an option; a map that agents inherit from the defaults is checked once. */
const checkToolKeys = (
  draft: TeamDraft,
  option: "tool_output_limits" | "on_interrupt",
  known: KnownTools,
): void => {
  const looked = new Set<Located | undefined>();
  for (const { index, value } of draft.agents) {
    const path: Path = ["agents", index, "options", option];
    const written = nodeAt(draft.root, path);
    if (looked.has(written)) continue;
    looked.add(written);
    for (const tool of Object.keys(value.options[option])) {
      checkServerTool(draft, [...path, tool], tool, known, "key");
      if (draft.tools.has(tool) || tool.includes("__")) continue;
      const hint = known.suggestTool(tool);
      draft.report("unknown_tool", [...path, tool], `there is no tool "${tool}"`, { which: "key", hint });
    }
  }
};

const checkServers = (draft: TeamDraft): void => {
  for (const { index, value } of draft.servers) {
    if (draft.toolboxes.has(value.name) || value.name === "core") {
      const owner =
        draft.toolboxes.has(value.name) && !isBuiltIn(value.name) ? "in extensions.ts" : "that is built in";
      const message = `"${value.name}" is the name of a toolbox ${owner}`;
      draft.report("name_conflict", ["mcp_servers", index, "name"], message);
    }
    if (value.command !== undefined) {
      draft.report(
        "needs_sandbox_process",
        ["mcp_servers", index, "command"],
        `the server ${value.name} is a program: it is available only where the sandbox can run processes`,
        { which: "key", hint: "use url for a server that is reachable over HTTP" },
      );
    }
  }
};

const checkToolAccess = (draft: TeamDraft, index: number, agent: AgentShape): void => {
  const access = agent.options.tool_access.trim();
  if (access === "" || access === "none") return;
  draft.report(
    "tool_access_typo",
    ["agents", index, "options", "tool_access"],
    "any text here disables all tools",
    { hint: "write none if that is intended, or remove the key" },
  );
};

type Rule = TeamDraft["sections"]["permissions"]["rules"][number];

const namesNoPath = (pattern: string): boolean => /^[/~]|^\.\/|(^|\/)\.\.(\/|$)|\/\/|\/$/.test(pattern);

/** Checks the pattern of a rule; one that only looks like a pattern would match nothing. */
const checkPattern = (draft: TeamDraft, path: Path, pattern: string): void => {
  const fault = globFault(pattern);
  if (fault === null) return;
  draft.report("invalid_value", path, fault, {
    hint: "write one rule for each alternative, and \\ before a character that is part of a name",
  });
};

const checkRulePath = (draft: TeamDraft, path: Path, match: string): void => {
  checkPattern(draft, [...path, "match"], match);
  if (!namesNoPath(match)) return;
  const message = "file tools see paths relative to the workspace, so this never matches";
  draft.report("invalid_value", [...path, "match"], message, { hint: "write it like src/** or src/*.ts" });
};

const checkRuleAddress = (draft: TeamDraft, path: Path, match: string): void => {
  checkPattern(draft, [...path, "match"], match);
  const written = writeAddressPattern(match);
  if (written === match) return;
  const message = "addresses are matched as scheme://host/path in one spelling, so this never matches";
  draft.report("invalid_value", [...path, "match"], message, { hint: `write it like ${written}` });
};

/** Checks the pattern of a rule by what it is about: an act, or the tools that it names. */
const checkMatch = (draft: TeamDraft, path: Path, { act, match }: Rule, named: readonly string[]): void => {
  if (match === undefined) return;
  const areOf = (toolboxes: readonly string[]): boolean => {
    const tools = toolboxes.flatMap((name) => draft.toolboxes.get(name) ?? []);
    return named.length > 0 && named.every((name) => tools.includes(name));
  };
  if ((act !== undefined && isFileAct(act)) || areOf(["filesystem", "search"]))
    checkRulePath(draft, path, match);
  if (act === "egress" || areOf(["http"])) checkRuleAddress(draft, path, match);
};

/** Whether a pattern of tools may fit tools of an MCP server, whose names begin with the server's. */
const mayFitServer = (pattern: string, servers: readonly string[]): boolean => {
  const [start = ""] = pattern.split(wildcards);
  return start.includes("__") || servers.some((name) => name.startsWith(start) || start.startsWith(name));
};

/** Lists the tools of the team that fit a pattern. */
const toolsThatFit = (draft: TeamDraft, pattern: string): readonly string[] =>
  [...draft.tools].filter((name) => matchesGlob(pattern, name, { segments: false }));

/** Warns of a pattern that fits no tool: it may have been meant to close something. */
const checkFit = (draft: TeamDraft, path: Path, pattern: string, known: KnownTools): void => {
  checkServerTool(draft, path, pattern, known);
  if (mayFitServer(pattern, known.servers) || toolsThatFit(draft, pattern).length > 0) return;
  draft.report("key_ignored", path, `no tool of this team fits "${pattern}"`, {
    hint: "name tools as npx limpet explain --kinds lists them; only a tool that a client brings could fit",
  });
};

/** A name near a tool's is treated as a typing error; any other may be a tool that a client brings. */
const checkRule = (draft: TeamDraft, path: Path, rule: Rule, known: KnownTools): void => {
  const { tool } = rule;
  const named = tool === undefined ? [] : toolsThatFit(draft, tool);
  checkMatch(draft, path, rule, named);
  if (tool === undefined) return;
  checkPattern(draft, [...path, "tool"], tool);
  if (named.length > 0) return;
  if (wildcards.test(tool)) return checkFit(draft, [...path, "tool"], tool, known);
  checkServerTool(draft, [...path, "tool"], tool, known);
  const near = tool.includes("__") ? null : known.nearestTool(tool);
  if (near !== null) {
    const hint = `did you mean "${near}"?`;
    draft.report("unknown_tool", [...path, "tool"], `there is no tool "${tool}"`, { hint });
  }
};

const checkRules = (draft: TeamDraft, path: Path, known: KnownTools, rules: readonly Rule[] = []): void =>
  rules.forEach((rule, index) => checkRule(draft, [...path, "permissions", "rules", index], rule, known));

/** Warns of tools that a scope hides or shows and that are not there. */
const checkScope = (draft: TeamDraft, index: number, agent: AgentShape, known: KnownTools): void => {
  agent.effects?.forEach((effect, place) => {
    if (!isOfKind("tool_scope")(effect)) return;
    for (const list of ["exclude", "include"] as const)
      effect.params[list].forEach((pattern, at) =>
        checkFit(draft, ["agents", index, "effects", place, "params", list, at], pattern, known),
      );
  });
};

/** Checks toolboxes and tools of every agent, permission rules, and MCP servers. */
export const checkTools = (draft: TeamDraft): void => {
  const known = knownToolsOf(draft);
  checkServers(draft);
  checkRules(draft, [], known, draft.sections.permissions.rules);
  checkToolKeys(draft, "tool_output_limits", known);
  checkToolKeys(draft, "on_interrupt", known);
  for (const { index, value } of draft.agents) {
    checkToolboxes(draft, index, value, known);
    checkToolAccess(draft, index, value);
    checkScope(draft, index, value, known);
    checkRules(draft, ["agents", index], known, value.permissions?.rules);
  }
};
