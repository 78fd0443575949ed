import type { BoundTool, CallPlace, Agent as RunningAgent } from "../../agent/definition/agent.ts";
import { depthLimitText } from "../../agent/definition/delegation.ts";
import type { CallPlan } from "../../agent/state/call.ts";
import type { ClientTool, Grant } from "../../agent/state/session.ts";
import type { TeamAgent as AgentConfig, Team } from "../../config/team.ts";
import type { ClosedPath } from "../../sandbox/contract.ts";
import { pathFrom, workspacePath } from "../../sandbox/paths.ts";
import { isCallAct, isFileAct } from "../../tools/acts.ts";
import { parseArguments, parseForeignArguments } from "../../tools/arguments.ts";
import type { ParsedArguments } from "../../tools/arguments.ts";
import type { Tool } from "../../tools/define-tool.ts";
import { errorText, errorMessageOf } from "../../tools/errors.ts";
import type { PermissionCall, Policy } from "../../tools/permission.ts";
import {
  closedPaths,
  readsForeign,
  findRememberable,
  findStrictest,
  verdict,
} from "../../tools/permission.ts";
import { unknownToolText } from "../../tools/toolbox.ts";
import type { Ceiling } from "./ceiling.ts";
import { rulesOver } from "./ceiling.ts";
import type { LentClientTools } from "./client-tools.ts";

/** Decides alone what a call may do, when a reply is stored and again when an approval arrives. */

type Judged = Parameters<RunningAgent["judge"]>[0];

const refusal = (
  text: string,
  status: "error" | "denied",
  by: string,
  more: Pick<NonNullable<CallPlan["refusal"]>, "problem"> = {},
): CallPlan => ({
  toolbox: "",
  safety: "unsafe",
  workspace: "none",
  terminal: false,
  verdict: status === "denied" ? "deny" : "allow",
  by,
  remember: null,
  refusal: { status, text, ...more },
});

const policyOf = (team: Team, agent: AgentConfig, grants: readonly Grant[]): Policy => ({
  preset: agent.permissions?.preset ?? team.permissions.preset,
  rules: rulesOver(team, agent),
  grants,
  hosts: team.egress.allow,
  afterUntrusted: agent.permissions?.after_untrusted ?? team.permissions.after_untrusted,
});

const refuseArguments = ({ problem, error }: Extract<ParsedArguments, { ok: false }>): CallPlan =>
  refusal(typeof error.content === "string" ? error.content : "invalid_arguments", "error", "arguments", {
    problem,
  });

interface JudgeParts {
  readonly team: Team;
  readonly agent: AgentConfig;
  readonly ceiling: Ceiling | null;
  readonly tools: ReadonlyMap<string, BoundTool>;
  readonly client: LentClientTools;
  /** Names of every tool that exists, whoever may use it. */
  readonly known: ReadonlySet<string>;
  /** Tools that the agent lacks only because of its depth. */
  readonly beyondDepth: ReadonlySet<string>;
  /** Maps toolboxes that this deployment cannot serve to the reason. */
  readonly unavailable: ReadonlyMap<string, string>;
  readonly now: () => number;
}

/** Policies of all agents whose rules a call has to obey, its own agent's first. */
type Policies = readonly Policy[];

const policiesIn = (
  { team, agent }: Pick<JudgeParts, "team" | "agent">,
  lenders: readonly string[],
  grants: readonly Grant[],
): Policies => {
  const others = team.agents.filter(({ name }) => lenders.includes(name));
  return [policyOf(team, agent, grants), ...others.map((each) => policyOf(team, each, grants))];
};

/**
 * Returns the policies of a call; a grant belongs to the session or to the calling agent, whichever agent lent the
 * tool.
 */
const policiesOf = (parts: JudgeParts, lenders: readonly string[], grants: readonly Grant[]): Policies => {
  const own = grants.filter(({ scope, agent }) => scope === "session" || agent === parts.agent.name);
  return [parts, ...(parts.ceiling === null ? [] : [parts.ceiling])].flatMap((each) =>
    policiesIn(each, lenders, own),
  );
};

const applyPolicies = (
  policies: Policies,
  call: PermissionCall,
  plan: Omit<CallPlan, "verdict" | "by" | "remember">,
  aliasOf: string = call.tool,
): CallPlan => {
  const names = aliasOf === call.tool ? [call] : [call, { ...call, tool: aliasOf }];
  const pairs = names.flatMap((named) => policies.map((each) => [each, named] as const));
  const found = findStrictest(pairs.map((each) => verdict(...each)));
  const closed = pairs.map((each) => closedPaths(...each)).filter((each) => each !== null);
  const decision = {
    ...plan,
    ...(closed.length === 0
      ? {}
      : { closed: [...new Map(closed.flat().map((path) => [JSON.stringify(path), path])).values()] }),
    verdict: found.verdict,
    by: found.by,
    ...(found.reason === undefined ? {} : { reason: found.reason }),
    remember: findRememberable(call),
  };
  if (found.verdict !== "deny") return decision;
  const why = found.reason === undefined ? "" : `: ${found.reason}`;
  return {
    ...decision,
    refusal: { status: "denied", text: `denied: a rule forbids this call (${found.by})${why}` },
  };
};

/** Judges a client tool like any custom tool, and its arguments by its own schema. */
const judgeClient = (
  policies: Policies,
  client: ClientTool,
  args: string,
  given: Pick<PermissionCall, "now" | "untrusted">,
): CallPlan => {
  const { name, params, safety } = client;
  const parsed = parseForeignArguments(name, params, args);
  if (!parsed.ok) return refuseArguments(parsed);
  const call = { tool: name, toolbox: "client", subjects: [name], safety, ...given };
  return applyPolicies(policies, call, {
    toolbox: "client",
    safety,
    workspace: "none",
    terminal: false,
    client: true,
  });
};

const invalidText = {
  truncated: "truncated: the reply ended before this call was complete. Send it again.",
  too_many: "limit: a reply may hold 64 calls; this one was not run. Send it in the next reply.",
};

type CallFacts = Pick<PermissionCall, "safety" | "subjects" | "acts" | "subtree">;

/** Returns a path as rules see it: from the workspace's root. One that leads outside stays; the sandbox refuses it. */
const subjectPath = (directory: string, raw: string): string => {
  try {
    return workspacePath(pathFrom(directory, raw));
  } catch {
    return raw;
  }
};

/** Replaces the paths of a call, relative to the agent's folder, by those that rules see. */
const withSubjectPaths = (facts: CallFacts, directory: string): CallFacts => {
  const { subjects, acts } = facts;
  if (acts === undefined) return facts;
  const paths = acts.flatMap(({ act, subject }) => (isFileAct(act) ? [subject] : []));
  const seen = (subject: string): string =>
    paths.includes(subject) ? subjectPath(directory, subject) : subject;
  return {
    ...facts,
    subjects: subjects.map(seen),
    acts: acts.map((act) => ({ ...act, subject: seen(act.subject) })),
  };
};

/** Returns a tool's own description of a call; a tool that fails to describe it makes the call an error. */
const describeCall = (
  tool: Tool,
  args: unknown,
  directory: string,
  page: string | null,
): CallFacts | { readonly failed: string } => {
  let facts: CallFacts;
  try {
    const acts = tool.acts?.(args, page);
    facts = {
      safety: tool.safety(args),
      subjects: tool.subject(args, page),
      ...(acts === undefined ? {} : { acts }),
      subtree: tool.subtree(args),
    };
  } catch (error) {
    return { failed: errorMessageOf(error) };
  }
  const { subjects, acts = [] } = facts;
  const isList = Array.isArray(subjects) && subjects.every((each) => typeof each === "string");
  if (!isList) return { failed: "subject did not return a list of texts" };
  const areActs = Array.isArray(acts) && acts.every(isCallAct);
  return areActs
    ? withSubjectPaths(facts, directory)
    : { failed: "acts did not return a list of {act, subject}" };
};

/** Returns whether a toolbox is an MCP server, whose results may try to instruct the model. */
const isServer = ({ mcp_servers }: Team, toolbox: string): boolean =>
  mcp_servers.some(({ name }) => name === toolbox);

const judgeBound = (
  policies: Policies,
  { tool, toolbox }: BoundTool,
  args: string,
  { team, agent, unavailable }: JudgeParts,
  { page, ...given }: Pick<PermissionCall, "now" | "untrusted"> & Pick<CallPlace, "page">,
): CallPlan => {
  const lack = unavailable.get(toolbox);
  if (lack !== undefined) return refusal(`unavailable: ${lack}`, "error", "deployment");
  if (tool.withheld !== undefined) return refusal(tool.withheld, "error", "pins");
  const parsed = parseArguments(tool, args);
  if (!parsed.ok) return refuseArguments(parsed);
  const facts = describeCall(tool, parsed.args, workspacePath(agent.options.working_dir), page);
  if ("failed" in facts) return refusal(errorText("failed", facts.failed), "error", "tool");
  const { safety } = facts;
  const permission = { tool: tool.name, toolbox, ...facts, ...given };
  const plan = {
    toolbox,
    safety,
    workspace: tool.workspace ?? "none",
    terminal: tool.terminal === true,
    ...(tool.request === null ? {} : { session: true }),
    ...(readsForeign(toolbox) || isServer(team, toolbox) ? { foreign: true } : {}),
  };
  return applyPolicies(policies, permission, plan, tool.aliasOf);
};

/** Judges a call of a tool that the placed agent does not have. */
const judgeMissing = (
  { agent, tools, known, beyondDepth }: JudgeParts,
  name: string,
  depth: number,
): CallPlan => {
  if (beyondDepth.has(name))
    return refusal(errorText("depth_exceeded", depthLimitText(depth)), "denied", "depth");
  return known.has(name)
    ? refusal(`not_permitted: ${agent.name} may not use ${name}`, "denied", "toolboxes")
    : refusal(`unknown_tool: ${unknownToolText(name, [...tools.keys()])}`, "error", "toolboxes");
};

/** Returns whether the agent has a tool that the deployed team no longer permits. */
const isWithdrawn = ({ ceiling, tools, client }: JudgeParts, name: string): boolean =>
  ceiling !== null &&
  !ceiling.tools.has(name) &&
  (tools.has(name) || client.tools.some((tool) => tool.name === name));

const planOf = (
  parts: JudgeParts,
  call: Judged,
  grants: readonly Grant[],
  { depth, untrusted, page }: CallPlace,
): CallPlan => {
  const { name } = call;
  if (call.invalid === "truncated" || call.invalid === "too_many")
    return refusal(invalidText[call.invalid], "error", "reply");
  if (isWithdrawn(parts, name)) {
    const text = `not_permitted: ${parts.agent.name} may not use ${name} any more`;
    return refusal(text, "denied", "deployed toolboxes");
  }
  const client = parts.client.tools.find((tool) => tool.name === name);
  const bound = parts.tools.get(name);
  const lenders = client === undefined ? (bound?.lenders ?? []) : parts.client.lenders;
  const policies = policiesOf(parts, lenders, grants);
  const given = { now: parts.now(), untrusted };
  if (client !== undefined) return judgeClient(policies, client, call.args, given);
  if (bound === undefined) return judgeMissing(parts, name, depth);
  return judgeBound(policies, bound, call.args, parts, { ...given, page });
};

/** Returns the paths that rules exclude from a search which the runtime makes for the agent; null if they forbid it. */
export const findPathsClosedToSearch = (parts: JudgeParts): readonly ClosedPath[] | null => {
  const reading = { subjects: ["."], acts: [{ act: "read", subject: "." }], safety: "read" } as const;
  const call = { tool: "search_content", toolbox: "search", ...reading, now: parts.now() };
  const plan = { toolbox: "search", safety: "read", workspace: "read", terminal: false } as const;
  const { verdict: found, closed = [] } = applyPolicies(policiesOf(parts, [], []), call, plan, "fs_read");
  return found === "allow" ? closed : null;
};

const isSamePlace = (one: CallPlace, other: CallPlace): boolean =>
  one.depth === other.depth && one.untrusted === other.untrusted && one.page === other.page;

interface Planned {
  readonly grants: readonly Grant[];
  readonly place: CallPlace;
  readonly at: number;
  readonly plan: CallPlan;
}

/** Creates the judge, which returns a call's plan: its class, and its verdict or a refusal. A repeat is cached. */
export const createJudge = (parts: JudgeParts): RunningAgent["judge"] => {
  const known = new WeakMap<Judged, Planned>();
  return (call, grants, place) => {
    const at = parts.now();
    const last = known.get(call);
    if (last?.at === at && last.grants === grants && isSamePlace(last.place, place)) return last.plan;
    const plan = planOf(parts, call, grants, place);
    known.set(call, { grants, place, at, plan });
    return plan;
  };
};
