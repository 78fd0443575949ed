import type { Json } from "../../chat/message.ts";
import type { Completer, ModelRequest, ResponseFormat, ToolSpec, Usage } from "../../model/completer.ts";
import type { ReserveRequest } from "../../model/gate.ts";
import type { RetryPolicy } from "../../model/retry.ts";
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

/** An agent as code: built from config and bindings on each wake by the engine, never stored. */

/** One provider and model a turn may go to; the first that is not cooling is used. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
  /** Tokens; 0 = unknown. */
  readonly window: number;
  /** What the window guard says of it. */
  readonly fit: "fits" | "small" | "too_small";
  readonly maxOutput: number;
  /** What the model takes beside text. */
  readonly media: { readonly images: boolean; readonly documents: boolean };
  readonly completer: Completer;
  /** Price of a call in 10⁻⁹ USD; null if it is not known. `hourly` is the part of `cacheWrite` that is kept an hour. */
  readonly cost: (usage: Usage, hourly?: number) => number | null;
  /** Tokens that reasoning may take beside `maxOutput`. */
  readonly thinking: number;
  readonly retry: RetryPolicy;
  /** Milliseconds that a whole attempt may take. */
  readonly timeout: number;
  readonly sampling: Pick<ModelRequest, "temperature" | "topP" | "reasoning">;
  readonly cache: ModelRequest["cache"];
  /** A rate limit is configured: each attempt books its place at the gate on these terms. */
  readonly gate: Pick<ReserveRequest, "limits" | "maxWait" | "total"> | null;
}

export interface BoundTool {
  readonly tool: Tool;
  readonly toolbox: string;
  /** Agents that lent it to a called one: their rules hold, too. */
  readonly lenders?: readonly string[];
  /** Of a tool that was lent: globs that bound its writes, in the place of the agent's. */
  readonly writablePaths?: readonly string[];
}

/** What bounds one run. */
export interface RunLimits {
  /** Turns; 0 = no limit. */
  readonly maxIterations: number;
  /** A person may allow more turns. */
  readonly askIterations: boolean;
  readonly bounds: readonly Bound[];
  /** Wall time from the run's start. */
  readonly timeoutMs: number | null;
  /** Time of a run without waits for people. */
  readonly activeMs: number | null;
}

export interface Agent {
  readonly name: string;
  /** What this deployment lacks to run it, as a list in words; null if nothing. */
  readonly missing: string | null;
  readonly prefix: string;
  readonly description: string;
  readonly lanes: readonly ModelTarget[];
  readonly tools: ReadonlyMap<string, BoundTool>;
  readonly specs: readonly ToolSpec[];
  /** `tool_access` is set: no tool is declared, every call is dropped. */
  readonly toolsDisabled: boolean;
  /** System prompt, and its tokens together with those of the declared tools. */
  readonly system: (facts: { readonly depth: number; readonly light: boolean }) => {
    readonly text: string;
    readonly tokens: number;
  };
  readonly limits: RunLimits;
  /** Turns after which it is told once to wrap up; 0 = never. */
  readonly warnIterations: number;
  readonly delegation: Delegation;
  /** Null: it remembers nothing. */
  readonly memory: MemoryRules | null;
  /** First = outermost. */
  readonly guardrails: readonly Guardrail[];
  readonly loggers: readonly RunLogger[];
  /** Runs of it at once in a session; 0 = unbounded. */
  readonly maxConcurrency: number;
  /** In the order in which they run; `ladder` is what an overflow or the API forces, configured or not. */
  readonly effects: {
    readonly before: readonly BoundEffect[];
    readonly after: readonly BoundEffect[];
    readonly ladder: BoundEffect | null;
  };
  /** What judges the calls of a reply, in this order. */
  readonly guards: readonly BoundGuard[];
  /** Finished calls that effects and guards need to see, counted back from the newest; 0: none are recorded. */
  readonly historySize: number;
  /** Whether a tool is a poll: declared so, or by configuration. */
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
  /** Folder of the workspace that commands start in. */
  readonly workingDir: string;
  readonly outputLimits: Readonly<Record<string, number>>;
  readonly cacheResults: boolean;
  readonly onInterrupt: Readonly<Record<string, "rerun" | "unknown" | "ask" | "fail">>;
  readonly writablePaths: readonly string[] | null;
  readonly responseFormat: ResponseFormat | null;
  readonly warningThreshold: number;
  /** Problems of a final text against a JSON Schema, as sentences naming path and rule; empty = it fits. */
  readonly checkOutput: (text: string, schema: Json | null) => readonly string[];
  /** The one function of what this thread may do, used when a reply is stored and again before a call starts. */
  readonly judge: (
    call: { readonly name: string; readonly args: string; readonly invalid?: string },
    grants: readonly Grant[],
    depth: number,
  ) => CallPlan;
}

/** Provider, model and window of a lane, as runs remember them. */
export const targetAt = (agent: Agent, index: number): Pick<ModelTarget, "provider" | "model" | "window"> => {
  const { provider, model, window } = agent.lanes[index] ?? { provider: "", model: "", window: 0 };
  return { provider, model, window };
};

/** Lanes of its turns, and those of its effects' own model calls. */
export const allTargets = ({ lanes, effects }: Pick<Agent, "lanes" | "effects">): readonly ModelTarget[] => [
  ...lanes,
  ...[...effects.before, effects.ladder].flatMap((bound) => bound?.lane ?? []),
];

/** Where an effect's model calls go: to its own lane, or to that of the run. */
export const effectTargetOf = (
  { lanes }: Agent,
  { lane: { provider, model } }: { readonly lane: Pick<ModelTarget, "provider" | "model"> },
  own: ModelTarget | null,
): ModelTarget | undefined =>
  own ?? lanes.find((target) => target.provider === provider && target.model === model) ?? lanes[0];

/**
 * The agent of a thread, as it stands there; one that this deployment lacks is `missing`. `model` given: under
 * that model override (null: none) instead of its session's.
 */
export type AgentResolver = (
  thread: { readonly agent: string; readonly child: { readonly standing: CallerConstraints } | null },
  model?: string | null,
) => Agent;

/** Stands in for an agent that the deployment took away: it can do nothing, and its runs wait. */
export const missingAgent = (name: string, missing: string): Agent => ({
  name,
  missing,
  prefix: "🤖",
  description: "",
  lanes: [],
  tools: new Map(),
  specs: [],
  toolsDisabled: true,
  system: () => ({ text: "", tokens: 0 }),
  effects: { before: [], after: [], ladder: null },
  guards: [],
  memory: null,
  guardrails: [],
  loggers: [],
  historySize: 0,
  isPoll: () => false,
  delegation: noDelegation,
  maxConcurrency: 0,
  warnIterations: 0,
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
  /** Whether texts are logged. */
  readonly content: boolean;
}
