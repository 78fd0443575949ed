import { serverToolName } from "../../toolboxes/mcp/names.ts";
import type { Act } from "../../tools/acts.ts";
import { boundActsOf } from "../../tools/acts.ts";
import type { Safety } from "../../tools/define-tool.ts";
import type { PermissionRule } from "../../tools/permission.ts";
import { isUnexpired, namesTool, verdict } from "../../tools/permission.ts";
import type { TeamDraft } from "../draft.ts";
import type { McpServer, Team, TeamAgent } from "../team.ts";
import type { ExplainedValue, OriginOf } from "./explain.ts";

/** Explains the tools of an agent: each with its class, and what decides about its calls. */

/** Tool as the engine computes it for an agent. */
export interface EffectiveTool {
  readonly name: string;
  readonly toolbox: string;
  readonly safety: string;
}

/** Returns an address without its query, which may hold a key. */
export const withoutQuery = (address: string): string => address.replace(/\?[^]*$/, "?…");

/** Returns the entries of an agent's `toolboxes` that are MCP servers. */
const serversOf = (
  { mcp_servers }: Team,
  { toolboxes }: TeamAgent,
): readonly { readonly server: McpServer; readonly tools: readonly string[] | null }[] =>
  toolboxes.flatMap((entry) => {
    const server = mcp_servers.find(({ name }) => name === entry.name);
    if (server === undefined) return [];
    const seen = (tool: string): string =>
      tool.startsWith(`${server.name}__`) ? tool : serverToolName(server.name, tool);
    const [own, listed] = [server.tools?.map(seen), entry.tools?.map(seen)];
    const both =
      own === undefined ? listed : listed === undefined ? own : own.filter((tool) => listed.includes(tool));
    return [{ server, tools: both ?? null }];
  });

/** Explains which MCP servers an agent uses, by their addresses. */
export const serverRows = (
  draft: TeamDraft,
  team: Team,
  agent: TeamAgent,
  originOf: OriginOf,
): readonly ExplainedValue[] =>
  serversOf(team, agent).map(({ server }) => {
    const { name, url, command } = server;
    const path = ["mcp_servers", team.mcp_servers.indexOf(server), url === undefined ? "command" : "url"];
    const value = url === undefined ? `command ${command}` : withoutQuery(url);
    return { section: "servers", key: name, value, origin: originOf(draft, path) };
  });

/** Returns the tools that an agent has of its servers; `server__*` stands for those that a server will list. */
const toolsOfServers = (team: Team, agent: TeamAgent): readonly EffectiveTool[] =>
  serversOf(team, agent).flatMap(({ server: { name: toolbox }, tools }) =>
    (tools ?? [`${toolbox}__*`]).map((name) => ({ name, toolbox, safety: "unsafe" })),
  );

/** Returns whether a rule may name some of the tools that `server__*` stands for, but not all. */
const namesSome = (rule: PermissionRule, name: string): boolean => {
  if (!name.endsWith("*") || rule.tool === undefined || namesTool(rule, name, [])) return false;
  const [start = ""] = rule.tool.split(/[*?[\\]/);
  const prefix = name.slice(0, -1);
  return start.startsWith(prefix) || (start !== rule.tool && prefix.startsWith(start));
};

const exceptionsOf = (rules: readonly PermissionRule[], name: string, does: readonly Act[]): string =>
  rules
    .flatMap((rule) => {
      const { action, tool, match } = rule;
      if (namesSome(rule, name)) return `; ${action} ${tool}`;
      return match !== undefined && namesTool(rule, name, does) ? `; ${action} ${match}` : [];
    })
    .join("");

/** Returns the rows of the tools, of servers by the team's file alone. */
export const toolRows = (
  draft: TeamDraft,
  team: Team,
  agent: TeamAgent,
  tools: readonly EffectiveTool[],
  now: number,
): readonly ExplainedValue[] => {
  const rules = [...team.permissions.rules, ...(agent.permissions?.rules ?? [])].filter((rule) =>
    isUnexpired(rule, now),
  );
  const preset = agent.permissions?.preset ?? team.permissions.preset;
  const policy = { preset, rules, grants: [], hosts: team.egress.allow, afterUntrusted: "off" } as const;
  const trusted = new Set(team.mcp_servers.flatMap(({ name, trust }) => (trust ? [name] : [])));
  return [...tools, ...toolsOfServers(team, agent)].map(({ name, toolbox, safety }) => {
    const does = boundActsOf(draft.definitions.get(name) ?? {});
    const acts = does.map((act) => ({ act, subject: "" }));
    const call = { tool: name, toolbox, safety: safety as Safety, subjects: [], acts, now };
    const { verdict: found, by } = verdict(policy, call);
    const shown = trusted.has(toolbox) ? `${safety} unless its server says otherwise` : safety;
    const value = `${shown}, ${found}${exceptionsOf(rules, name, does)}`;
    return { section: "tools", key: `${toolbox}.${name}`, value, origin: by };
  });
};
