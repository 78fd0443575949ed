import { globMatch } from "../../sandbox/glob.ts";
import { nearest } from "../../tools/suggest.ts";
import type { Path } from "../diagnostics.ts";
import type { AgentShape, Draft } from "../draft.ts";
import { builtInToolboxes } from "../known.ts";
import { at } from "../located.ts";
import { suggestion } from "../suggest.ts";
import { namesOf } from "./names.ts";

/** Toolboxes, their tools, and what is said about single tools (TB-4, CF-25). */

type ToolboxEntry = AgentShape["toolboxes"][number];

const checkEntry = (draft: Draft, path: Path, entry: ToolboxEntry, servers: readonly string[]): void => {
  const object = at(draft.root, draft.writtenPath([...path, "name"])) !== undefined;
  const tools = draft.toolboxes.get(entry.name);
  if (tools === undefined && !servers.includes(entry.name)) {
    const known = [...draft.toolboxes.keys(), ...servers];
    draft.report(
      "unknown_toolbox",
      object ? [...path, "name"] : path,
      `there is no toolbox "${entry.name}"`,
      {
        hint: suggestion(entry.name, known),
      },
    );
  }
  if (tools === undefined) return;
  entry.tools?.forEach((tool, index) => {
    if (tools.includes(tool)) return;
    draft.report(
      "unknown_tool",
      [...path, "tools", index],
      `the toolbox ${entry.name} has no tool "${tool}"`,
      { hint: suggestion(tool, tools) },
    );
  });
};

const toolsOf = (draft: Draft, entry: ToolboxEntry): readonly string[] =>
  (draft.toolboxes.get(entry.name) ?? []).filter((tool) => entry.tools?.includes(tool) ?? true);

/** A tool of an extension that bears a built-in's name either replaces it or was reported with its toolbox (TB-37). */
const isBuiltIn = (toolbox: string): boolean => Object.hasOwn(builtInToolboxes, toolbox);

const checkToolboxes = (draft: Draft, index: number, agent: AgentShape, servers: readonly string[]): void => {
  const boxes = new Set<string>();
  const owner = new Map<string, string>();
  agent.toolboxes.forEach((entry, place) => {
    const path: Path = ["agents", index, "toolboxes", place];
    checkEntry(draft, path, entry, servers);
    if (boxes.has(entry.name)) {
      draft.report("duplicate_name", path, `the toolbox "${entry.name}" stands here twice`);
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

const checkToolKeys = (draft: Draft, index: number, agent: AgentShape): void => {
  const known = [...draft.tools];
  for (const option of ["tool_output_limits", "on_interrupt"] as const) {
    for (const tool of Object.keys(agent.options[option])) {
      if (known.includes(tool) || tool.includes("__")) continue;
      draft.report("unknown_tool", ["agents", index, "options", option, tool], `there is no tool "${tool}"`, {
        which: "key",
        hint: suggestion(tool, known),
      });
    }
  }
};

const checkServers = (draft: Draft): void => {
  for (const { index, value } of draft.servers) {
    if (draft.toolboxes.has(value.name) || value.name === "core") {
      const message = `"${value.name}" is the name of a built-in toolbox`;
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

const checkToolAccess = (draft: Draft, index: number, agent: AgentShape): void => {
  const access = agent.options.tool_access.trim();
  if (access === "" || access === "none") return;
  draft.report(
    "tool_access_typo",
    ["agents", index, "options", "tool_access"],
    "any text here disables all tools",
    { hint: "write none if that is meant, or remove the key" },
  );
};

type Rule = Draft["sections"]["permissions"]["rules"][number];

const fileToolboxes = ["filesystem", "search"];

const leadsOut = (pattern: string): boolean => /^[/~]|^\.\/|(^|\/)\.\.(\/|$)/.test(pattern);

/** A name near a tool's is a slip; any other may be a tool that a client brings along (TB-38). */
const checkRule = (draft: Draft, path: Path, { tool, match }: Rule): void => {
  const isNamed = (name: string): boolean => globMatch(tool, name, { segments: false });
  const named = [...draft.tools].filter(isNamed);
  const near = named.length === 0 && !/[*?[]|__/.test(tool) ? nearest(tool, [...draft.tools]) : null;
  if (near !== null) {
    const hint = `did you mean "${near}"?`;
    draft.report("unknown_tool", [...path, "tool"], `there is no tool "${tool}"`, { hint });
  }
  if (match === undefined || !leadsOut(match) || named.length === 0) return;
  const fileTools = fileToolboxes.flatMap((name) => draft.toolboxes.get(name) ?? []);
  if (!named.every((name) => fileTools.includes(name))) return;
  const message = "file tools see paths relative to the workspace, so this never matches";
  draft.report("invalid_value", [...path, "match"], message, { hint: "write it like src/** or src/*.ts" });
};

const checkRules = (draft: Draft, path: Path, rules: readonly Rule[] = []): void =>
  rules.forEach((rule, index) => checkRule(draft, [...path, "permissions", "rules", index], rule));

/** Toolboxes and tools of every agent, permission rules, and MCP servers. */
export const checkTools = (draft: Draft): void => {
  const servers = namesOf(draft, "mcp_servers");
  checkServers(draft);
  checkRules(draft, [], draft.sections.permissions.rules);
  for (const { index, value } of draft.agents) {
    checkToolboxes(draft, index, value, servers);
    checkToolKeys(draft, index, value);
    checkToolAccess(draft, index, value);
    checkRules(draft, ["agents", index], value.permissions?.rules);
  }
};
