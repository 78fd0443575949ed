import { commandsNoted, commandsRun } from "../agent/calls/background-commands.ts";
import type { Settlement } from "../agent/calls/finish.ts";
import { callEnded, callResult, elapsedOf, findCall } from "../agent/calls/finish.ts";
import { callPaused } from "../agent/calls/start.ts";
import { comparable } from "../agent/context/history.ts";
import type { BoundTool } from "../agent/definition/agent.ts";
import { childrenRequested } from "../agent/delegation/calls.ts";
import type { Call } from "../agent/state/call.ts";
import { outputStored, taskWatched } from "../agent/stores/tasks.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { agentOf } from "../agent/transaction/draft.ts";
import { opened } from "../agent/turn/answers.ts";
import { takeArguments } from "../tools/arguments.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Parked, Tool, ToolOutput } from "../tools/define-tool.ts";
import { toolError } from "../tools/errors.ts";
import type { Outcome } from "./tool-run.ts";
import { isCurrent, output, runBounded } from "./tool-run.ts";
import type { Outside } from "./work.ts";

/** One tool call, from the stored `running` to the stored outcome: cache, tool, limits. */

const changesWorkspace = (tool: Tool): boolean => tool.workspace === "write" || tool.workspace === undefined;

/** Whether the cache may answer a call, and keep its result: not while a command in the background may be writing. */
const isCacheable = ({ host }: Outside, threadId: string, { cache }: Tool): boolean =>
  cache === true && host.agent(threadId).cacheResults && !commandsRun(host.read(), host.now());

/** What a cached result is found by. A read of the workspace counts for the thread that makes it only. */
const keyOf = (threadId: string, { plan }: Call, { name, workspace }: Tool, args: unknown): string =>
  canonicalJson([name, args, plan.closed ?? null, workspace === "none" ? null : threadId]);

const withCache = async (
  outside: Outside,
  threadId: string,
  call: Call,
  { tool }: BoundTool,
  args: unknown,
): Promise<Outcome> => {
  const { cache } = outside;
  const enabled = isCacheable(outside, threadId, tool);
  const key = enabled ? keyOf(threadId, call, tool, args) : "";
  const hit = enabled ? cache.get(key) : undefined;
  if (hit !== undefined) return { kind: "output", output: hit, status: "ok", cache: "hit" };
  if (changesWorkspace(tool)) cache.clear();
  const before = cache.epoch();
  const outcome = await runBounded(outside, threadId, call, tool, args);
  if (changesWorkspace(tool)) cache.clear();
  if (!enabled || outcome.kind === "parked") return outcome;
  if (outcome.status === "ok" && outcome.output.stores === undefined && outcome.kept === undefined)
    cache.put(key, outcome.output, before);
  return { ...outcome, cache: "miss" };
};

/** What detectors of loops compare, if that is not the result as it is. */
const comparedOf = (
  draft: Draft,
  threadId: string,
  { call }: Call,
  content: ToolOutput["content"],
): Pick<Settlement, "compared"> => {
  const volatile = agentOf(draft, threadId).tools.get(call.name)?.tool.volatile ?? [];
  return volatile.length === 0 ? {} : { compared: comparable(content, volatile) };
};

/** An output as it is stored. */
const settlementOf = (
  draft: Draft,
  threadId: string,
  call: Call,
  { output: { content, details, changes, statusText }, status, cache }: Extract<Outcome, { kind: "output" }>,
): Settlement => ({
  result: callResult(draft, threadId, call, status, content),
  durationMs: cache === "hit" ? 0 : elapsedOf(draft, call),
  cached: cache === "hit",
  ...(cache === "miss" ? { missed: true } : {}),
  ...(details === undefined ? {} : { details }),
  ...(changes === undefined ? {} : { changes }),
  ...(statusText === undefined ? {} : { statusText }),
  ...comparedOf(draft, threadId, call, content),
});

/** The same, with the output's changes of the shared stores applied. */
const storesSettled = (
  draft: Draft,
  threadId: string,
  call: Call,
  outcome: Extract<Outcome, { kind: "output" }>,
): Settlement => {
  const author = { thread: threadId, call: call.call.id };
  const { content, status, changed } = outputStored(draft, author, outcome.output, outcome.status);
  const output = { ...outcome.output, content };
  const settlement = settlementOf(draft, threadId, call, { ...outcome, status, output });
  return changed ? { ...settlement, stored: true } : settlement;
};

const parkedOn = (draft: Draft, threadId: string, call: Call, park: Parked["parked"]): void => {
  if (park.on === "ask") opened(draft, threadId, call, "question", { question: park.question });
  else if (park.on === "thread") childrenRequested(draft, threadId, call, park);
  else if (park.on === "task") taskWatched(draft, threadId, call.call.id, park);
  else callPaused(draft, threadId, call.call.id, park.on, park.until);
};

const store = (outside: Outside, threadId: string, call: Call, outcome: Outcome): void => {
  const { host, settle } = outside;
  const { id } = call.call;
  settle((draft) => {
    const current = findCall(draft.state.threads[threadId]?.run ?? null, id);
    if (current === null || !isCurrent(draft.state, threadId, call, host.epoch)) return;
    if (outcome.kind === "parked") parkedOn(draft, threadId, current, outcome.park);
    else {
      draft.blobs.push(...(outcome.kept ?? []));
      callEnded(draft, threadId, id, storesSettled(draft, threadId, current, outcome));
      commandsNoted(draft, threadId, outcome.output);
    }
  });
  host.itemsClosed([id]);
};

/** Runs the call that the state says is running. */
export const act = async (outside: Outside, threadId: string, call: Call): Promise<void> => {
  const { host } = outside;
  const agent = host.agent(threadId);
  const bound = agent.tools.get(call.call.name) ?? null;
  if (bound === null) {
    const gone = output(
      toolError("unavailable", `${call.call.name} is not part of this deployment`).content,
      "error",
    );
    store(outside, threadId, call, gone);
    return;
  }
  const parsed = takeArguments(bound.tool, call.edited ?? call.call.args);
  const outcome = parsed.ok
    ? await withCache(outside, threadId, call, bound, parsed.args)
    : output(parsed.error.content, "error");
  store(outside, threadId, call, outcome);
};
