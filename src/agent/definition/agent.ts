import type { Json } from "../../chat/message.ts";
import type { Completer, ModelRequest, ResponseFormat, ToolSpec, Usage } from "../../model/completer.ts";
import type { ReserveRequest } from "../../model/gate.ts";
import type { RetryPolicy } from "../../model/retry.ts";
import type { ClosedPath } from "../../sandbox/contract.ts";
import type { Tool } from "../../tools/define-tool.ts";
import type { LogLevel } from "../../tools/log-line.ts";
import type { Bound } from "../state/budget.ts";
import type { CallPlan } from "../state/call.ts";
import type { CallerConstraints } from "../state/child.ts";
import type { Grant } from "../state/session.ts";
import type { Delegation } from "./delegation.ts";
import { noDelegation } from "./delegation.ts";
import type { BoundEffect } from "./effect.ts";
import type { BoundGuard, Guardrail, StartHook } from "./guard.ts";
import type { MemoryRules } from "./memory.ts";

/** The engine builds an agent from config and bindings on each wake; an agent is never stored. */

/** One provider and model for a turn. The first model target that is not cooling is used. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
  /** Context window in tokens; 0 means unknown. */
  readonly window: number;
  /** How the window guard classifies the model target. */
  readonly fit: "fits" | "small" | "too_small";
  readonly maxOutput: number;
  /** Media that the model accepts beside text. */
  readonly media: { readonly images: boolean; readonly documents: boolean };
  readonly completer: Completer;
  /** Cost of a call in 10⁻⁹ USD, null if unknown; `hourly` is the part of `cacheWrite` that is kept an hour. */
  readonly cost: (usage: Usage, hourly?: number) => number | null;
  /** Tokens that reasoning may take beside `maxOutput`. */
  readonly thinking: number;
  readonly retry: RetryPolicy;
  /** Milliseconds that a whole attempt may take. */
  readonly timeout: number;
  readonly sampling: Pick<ModelRequest, "temperature" | "topP" | "reasoning">;
  readonly cache: ModelRequest["cache"];
  /** Set if a rate limit is configured: each attempt reserves a ticket at the gate on these terms. */
  readonly gate: Pick<ReserveRequest, "limits" | "maxWait" | "total"> | null;
}

export interface BoundTool {
  readonly tool: Tool;
  readonly toolbox: string;
  /** Agents that lent the tool to a called one: their rules hold, too. */
  readonly lenders?: readonly string[];
  /** Globs that bound the writes of a lent tool instead of the agent's. */
  readonly writablePaths?: readonly string[];
}

/** The limits of one run. */
export interface RunLimits {
  /** Number of turns that the run may have; 0 means no limit. */
  readonly maxIterations: number;
  /** Whether a person may allow more turns. */
  readonly askIterations: boolean;
  readonly bounds: readonly Bound[];
  /** The wall time from the run's start. */
  readonly timeoutMs: number | null;
  /** The time of a run without waits for people. */
  readonly activeMs: number | null;
}

/** Note that is given before the turn that reaches `fraction` of the run's turns. */
export interface Checkpoint {
  readonly fraction: number;
  readonly message: string;
}

/** Rules for the command that checks the workspace after edits, or before a run ends that used up its turns. */
export interface VerificationRules {
  readonly afterEdit: boolean;
  readonly onBreach: boolean;
  /** Command; if empty, it is detected by the files of the workspace. */
  readonly command: string;
  /** The command that runs after the first has passed; empty: none. */
  readonly broad: string;
  /** Number of repair turns for the edits of one turn. */
  readonly retries: number;
  /** Milliseconds that a command may take. */
  readonly timeoutMs: number;
}

export interface Agent {
  readonly name: string;
  /** Lists in words what this deployment lacks to run the agent; null if nothing. */
  readonly missing: string | null;
  readonly prefix: string;
  readonly targets: readonly ModelTarget[];
  readonly tools: ReadonlyMap<string, BoundTool>;
  readonly specs: readonly ToolSpec[];
  /** MCP servers whose tools the agent may use; a run fails without a required one. */
  readonly servers: readonly { readonly name: string; readonly required: boolean }[];
  /** `tool_access` is set: no tool is declared, and every call is dropped. */
  readonly toolsDisabled: boolean;
  /** Gives the system prompt and its tokens together with those of the declared tools. */
  readonly system: (facts: { readonly depth: number; readonly light: boolean }) => {
    readonly text: string;
    readonly tokens: number;
  };
  readonly limits: RunLimits;
  /** Number of turns after which the agent is told once to wrap up; 0 means never. */
  readonly warnIterations: number;
  /** Number of turns in a row without progress that ends a run; 0 means never. */
  readonly noProgressTurns: number;
  /** Notes, each given at its share of the turns. */
  readonly checkpoints: readonly Checkpoint[];
  /** Whether the agent is asked what went wrong after a reply with a failed call. */
  readonly reflectOnError: boolean;
  readonly delegation: Delegation;
  /** Rules for the agent's memory; null: it remembers nothing. */
  readonly memory: MemoryRules | null;
  /** Rules for checking the workspace; null: nothing is checked. */
  readonly verification: VerificationRules | null;
  /** Guardrails, the outermost first. */
  readonly guardrails: readonly Guardrail[];
  /** Start hooks, the outermost first. */
  readonly startHooks: readonly StartHook[];
  readonly loggers: readonly RunLogger[];
  /** How many runs of the agent a session may have at once; 0 means unbounded. */
  readonly maxConcurrency: number;
  /** The effects in the order in which they run; `compaction` is the strategy that an overflow or the API forces, configured or not. */
  readonly effects: {
    readonly before: readonly BoundEffect[];
    readonly after: readonly BoundEffect[];
    readonly compaction: BoundEffect | null;
  };
  /** The guards that judge the calls of a reply, in this order. */
  readonly guards: readonly BoundGuard[];
  /** Number of the newest finished calls that effects and guards see; 0 means that none are recorded. */
  readonly historySize: number;
  /** Returns whether a tool is a poll, by its declaration or by configuration. */
  readonly isPoll: (tool: string) => boolean;
  readonly asks: {
    readonly timeoutMs: number;
    readonly questionTimeoutMs: number;
    readonly onTimeout: "continue" | "fail" | { readonly answer: string };
  };
  readonly approvalTimeout: (rule: string) => {
    readonly timeoutMs: number;
    readonly onTimeout: "deny" | "approve";
  };
  readonly commandTimeout: { readonly default: number; readonly max: number };
  /** Folder of the workspace from which paths of tools and commands count. */
  readonly workingDir: string;
  /** Folder in which git starts, relative to `workingDir`. */
  readonly repository: string;
  /** Whether a run makes a plan before its first turn; with `approve` a person has to approve it. */
  readonly planBeforeExecute: boolean | "approve";
  /** Returns the paths that are left out when files for an input are looked for; null: no file is looked for. */
  readonly localize: (() => readonly ClosedPath[] | null) | null;
  readonly outputLimits: Readonly<Record<string, number>>;
  readonly cacheResults: boolean;
  readonly onInterrupt: Readonly<Record<string, "rerun" | "unknown" | "ask" | "fail">>;
  readonly writablePaths: readonly string[] | null;
  readonly responseFormat: ResponseFormat | null;
  readonly warningThreshold: number;
  /** Checks a final text against a JSON Schema: sentences naming path and rule; empty means that it fits. */
  readonly checkOutput: (text: string, schema: Json | null) => readonly string[];
  /** Decides what this thread may do: when a reply is stored, and again before a call starts. */
  readonly judge: (
    call: { readonly name: string; readonly args: string; readonly invalid?: string },
    grants: readonly Grant[],
    place: CallPlace,
  ) => CallPlan;
}

/** Where a call runs: the depth of its thread in the tree of calls, and whether foreign content reached its run. */
export interface CallPlace {
  readonly depth: number;
  readonly untrusted: boolean;
  /** Address that the session's browser shows; null if no page is open. */
  readonly page: string | null;
}

/** Returns what a run remembers of a model target: provider, model and window. */
export const targetAt = (agent: Agent, index: number): Pick<ModelTarget, "provider" | "model" | "window"> => {
  const { provider, model, window } = agent.targets[index] ?? { provider: "", model: "", window: 0 };
  return { provider, model, window };
};

/** The model targets of an agent's turns and of its effects' own model calls. */
export const allTargets = ({
  targets,
  effects,
}: Pick<Agent, "targets" | "effects">): readonly ModelTarget[] => [
  ...targets,
  ...[...effects.before, effects.compaction].flatMap((bound) => bound?.target ?? []),
];

/** Finds the target that names this model of this provider. */
export const findNamedTarget = (
  targets: readonly ModelTarget[],
  { provider, model }: Pick<ModelTarget, "provider" | "model">,
): ModelTarget | undefined => targets.find((each) => each.provider === provider && each.model === model);

/** Returns the model target of an effect's model calls: its own or else that of the run. */
export const effectTargetOf = (
  { targets }: Agent,
  { target }: { readonly target: Pick<ModelTarget, "provider" | "model"> },
  own: ModelTarget | null,
): ModelTarget | undefined => own ?? findNamedTarget(targets, target) ?? targets[0];

/** Returns the agent of a thread, `missing` if the deployment lacks it; `model` replaces the session's override. */
export type AgentResolver = (
  thread: {
    readonly agent: string;
    readonly child: { readonly callerConstraints: CallerConstraints } | null;
  },
  model?: string | null,
) => Agent;

/** Returns a placeholder for an agent that is no longer deployed: it can do nothing, and its runs wait. */
export const missingAgent = (name: string, missing: string): Agent => ({
  name,
  missing,
  prefix: "🤖",
  targets: [],
  tools: new Map(),
  specs: [],
  servers: [],
  toolsDisabled: true,
  system: () => ({ text: "", tokens: 0 }),
  effects: { before: [], after: [], compaction: null },
  guards: [],
  memory: null,
  verification: null,
  guardrails: [],
  startHooks: [],
  loggers: [],
  historySize: 0,
  isPoll: () => false,
  delegation: noDelegation,
  maxConcurrency: 0,
  warnIterations: 0,
  noProgressTurns: 0,
  checkpoints: [],
  reflectOnError: false,
  limits: {
    maxIterations: 0,
    askIterations: false,
    bounds: [],
    timeoutMs: null,
    activeMs: null,
  },
  asks: { timeoutMs: 86_400_000, questionTimeoutMs: 86_400_000, onTimeout: "continue" },
  approvalTimeout: () => ({ timeoutMs: 86_400_000, onTimeout: "deny" }),
  commandTimeout: { default: 120_000, max: 600_000 },
  workingDir: ".",
  repository: ".",
  planBeforeExecute: false,
  localize: null,
  outputLimits: {},
  cacheResults: false,
  onInterrupt: {},
  writablePaths: null,
  responseFormat: null,
  warningThreshold: 1,
  checkOutput: () => [],
  judge: () => ({
    toolbox: "",
    safety: "unsafe",
    workspace: "none",
    terminal: false,
    verdict: "deny",
    by: "missing_agent",
    remember: null,
    refusal: { status: "denied", text: "not_permitted: this agent is not deployed." },
  }),
});

export interface RunLogger {
  readonly level: LogLevel;
  /** Returns whether texts are logged. */
  readonly content: boolean;
}
