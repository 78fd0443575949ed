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
import type { BoundGuard, Guardrail } from "./guard.ts";
import type { MemoryRules } from "./memory.ts";
import type { StartHook } from "./middleware.ts";

/** An agent is built as code from config and bindings on each wake by the engine and is never stored. */

/** A model target is one provider and model for a turn; the first that is not cooling is used. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
  /** The window is in tokens; 0 means unknown. */
  readonly window: number;
  /** The window guard classifies the model target with this. */
  readonly fit: "fits" | "small" | "too_small";
  readonly maxOutput: number;
  /** The model accepts these media beside text. */
  readonly media: { readonly images: boolean; readonly documents: boolean };
  readonly completer: Completer;
  /** A call costs this in 10⁻⁹ USD, null if unknown; `hourly` is the part of `cacheWrite` that is kept an hour. */
  readonly cost: (usage: Usage, hourly?: number) => number | null;
  /** Reasoning may take this many tokens beside `maxOutput`. */
  readonly thinking: number;
  readonly retry: RetryPolicy;
  /** A whole attempt may take this many milliseconds. */
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
  /** If the tool was lent, these globs bound its writes instead of the agent's. */
  readonly writablePaths?: readonly string[];
}

/** The limits of one run. */
export interface RunLimits {
  /** The run may have this many turns; 0 means no limit. */
  readonly maxIterations: number;
  /** A person may allow more turns. */
  readonly askIterations: boolean;
  readonly bounds: readonly Bound[];
  /** The wall time from the run's start. */
  readonly timeoutMs: number | null;
  /** The time of a run without waits for people. */
  readonly activeMs: number | null;
}

/** A note is given before the turn that reaches `fraction` of the run's turns. */
export interface Checkpoint {
  readonly fraction: number;
  readonly message: string;
}

/** A command checks the workspace after edits or before a run ends that used up its turns. */
export interface VerificationRules {
  readonly afterEdit: boolean;
  readonly onBreach: boolean;
  /** If it is empty, the command is detected by the files of the workspace. */
  readonly command: string;
  /** The command that runs after the first has passed; empty: none. */
  readonly broad: string;
  /** Edits of a turn may be repaired in so many repair turns. */
  readonly retries: number;
  /** A command may take this long. */
  readonly timeoutMs: number;
}

export interface Agent {
  readonly name: string;
  /** Lists in words what this deployment lacks to run the agent; null if nothing. */
  readonly missing: string | null;
  readonly prefix: string;
  readonly description: string;
  readonly targets: readonly ModelTarget[];
  readonly tools: ReadonlyMap<string, BoundTool>;
  readonly specs: readonly ToolSpec[];
  /** The agent may use tools of these MCP servers; a run fails without a required one. */
  readonly servers: readonly { readonly name: string; readonly required: boolean }[];
  /** `tool_access` is set: no tool is declared, and every call is dropped. */
  readonly toolsDisabled: boolean;
  /** Gives the system prompt and its tokens together with those of the declared tools. */
  readonly system: (facts: { readonly depth: number; readonly light: boolean }) => {
    readonly text: string;
    readonly tokens: number;
  };
  readonly limits: RunLimits;
  /** After so many turns the agent is told once to wrap up; 0 means never. */
  readonly warnIterations: number;
  /** So many turns in a row without progress end a run; 0 means never. */
  readonly noProgressTurns: number;
  /** The agent is told each of these at its share of the turns. */
  readonly checkpoints: readonly Checkpoint[];
  /** After a reply with a failed call the agent is asked what went wrong. */
  readonly reflectOnError: boolean;
  readonly delegation: Delegation;
  /** If null, the agent remembers nothing. */
  readonly memory: MemoryRules | null;
  /** If null, nothing is checked. */
  readonly verification: VerificationRules | null;
  /** The first guardrail is the outermost. */
  readonly guardrails: readonly Guardrail[];
  /** The first hook is the outermost. */
  readonly startHooks: readonly StartHook[];
  readonly loggers: readonly RunLogger[];
  /** A session may run the agent this often at once; 0 means unbounded. */
  readonly maxConcurrency: number;
  /** The effects in the order in which they run; `compaction` is the strategy that an overflow or the API forces, configured or not. */
  readonly effects: {
    readonly before: readonly BoundEffect[];
    readonly after: readonly BoundEffect[];
    readonly compaction: BoundEffect | null;
  };
  /** The guards that judge the calls of a reply, in this order. */
  readonly guards: readonly BoundGuard[];
  /** Effects and guards see so many finished calls, the newest ones; 0 means that none are recorded. */
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
  /** Paths of tools and commands count from this folder of the workspace. */
  readonly workingDir: string;
  /** The folder that git starts in, from `workingDir`. */
  readonly repository: string;
  /** A run makes a plan before its first turn, which a person may have to approve. */
  readonly planBeforeExecute: boolean | "approve";
  /** If not null, files that an input is about are looked for, except at the paths that it gives; null: nowhere. */
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

/** A call's thread stands in the tree of calls at this depth; its run is untrusted once foreign content reached it. */
export interface CallPlace {
  readonly depth: number;
  readonly untrusted: boolean;
  /** The session's browser shows this address; null if no page is open. */
  readonly page: string | null;
}

/** Runs remember a model target by its provider, model and window. */
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

/** An effect's model calls go to its own model target or else to that of the run. */
export const effectTargetOf = (
  { targets }: Agent,
  { target: { provider, model } }: { readonly target: Pick<ModelTarget, "provider" | "model"> },
  own: ModelTarget | null,
): ModelTarget | undefined =>
  own ?? targets.find((target) => target.provider === provider && target.model === model) ?? targets[0];

/**
 * The resolver returns the agent of a thread; one that this deployment lacks is `missing`. `model` replaces the
 * session's model override (null: none).
 */
export type AgentResolver = (
  thread: {
    readonly agent: string;
    readonly child: { readonly callerConstraints: CallerConstraints } | null;
  },
  model?: string | null,
) => Agent;

/** A placeholder for an agent that is no longer deployed: it can do nothing, and its runs wait. */
export const missingAgent = (name: string, missing: string): Agent => ({
  name,
  missing,
  prefix: "🤖",
  description: "",
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
