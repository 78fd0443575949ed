import type { ContentPart, ResultStatus } from "../chat/message.ts";
import { synthesised } from "../chat/results.ts";
import { cleanText } from "../chat/text.ts";
import { parseArguments } from "../tools/arguments.ts";
import type { Parked, Tool, ToolContext, ToolOutput } from "../tools/define-tool.ts";
import { canonicalJson } from "../tools/canonical.ts";
import { toolError } from "../tools/errors.ts";
import { limitOutput } from "../tools/output.ts";
import type { BoundTool } from "./agent.ts";
import { opened } from "./asks.ts";
import { callPaused } from "./calls.ts";
import type { Draft } from "./draft.ts";
import { changeCall } from "./draft.ts";
import type { Outside } from "./outside.ts";
import { callEnded, findCall } from "./outcomes.ts";
import type { Call, Session } from "./state.ts";

/** One tool call, from the stored `running` to the stored outcome (SE-15, SE-16). */

type Outcome =
  | {
      readonly kind: "output";
      readonly output: ToolOutput;
      readonly status: ResultStatus;
      readonly cached: boolean;
    }
  | { readonly kind: "parked"; readonly park: Parked["parked"] };

const defaultLimit = 32_000;

const isCurrent = (session: Session, threadId: string, call: Call, epoch: number): boolean => {
  const now = findCall(session.threads[threadId]?.run ?? null, call.call.id);
  return now?.status === "running" && now.attempts === call.attempts && now.epoch === epoch;
};

const output = (content: ToolOutput["content"], status: ResultStatus): Outcome => ({
  kind: "output",
  output: { content, isError: status !== "ok" },
  status,
  cached: false,
});

/** A thrown error as the model may read it: one line, no stack. */
const failure = (error: unknown): Outcome => {
  const message = error instanceof Error ? error.message : String(error);
  return output(toolError("failed", message.split("\n")[0] ?? "the tool failed").content, "error");
};

const contextOf = (
  outside: Outside,
  threadId: string,
  call: Call,
  deadline: number,
  signal: AbortSignal,
): ToolContext => {
  const { host } = outside;
  const session = host.read();
  const thread = session.threads[threadId];
  const agent = host.agent(thread?.agent ?? "");
  let shown = "";
  return {
    callId: call.call.id,
    key: `${thread?.run?.id}/${call.call.id}`,
    attempt: call.attempts,
    signal,
    deadline,
    now: () => host.now(),
    agent: agent.name,
    thread: threadId,
    session: session.id,
    sandbox: host.sandbox(),
    ...(agent.writablePaths === null ? {} : { writablePaths: agent.writablePaths }),
    commandTimeout: agent.commandTimeout,
    recall: (id) => host.recall(id),
    memo: {
      get: () => findCall(host.read().threads[threadId]?.run ?? null, call.call.id)?.memo ?? null,
      set: (memo) =>
        host.update((draft) => {
          if (isCurrent(draft.state, threadId, call, host.epoch))
            changeCall(draft, threadId, call.call.id, { memo });
        }),
    },
    show: (text) => {
      const off = shown.length;
      shown += text;
      host.itemGrew({
        id: call.call.id,
        thread: threadId,
        kind: "tool_output",
        attempt: call.attempts,
        text: shown,
      });
      host.show([
        {
          type: "delta",
          kind: "tool_output_delta",
          thread: threadId,
          item: call.call.id,
          attempt: call.attempts,
          off,
          data: text,
        },
      ]);
    },
  };
};

/** Runs a tool under its own deadline and the call's abort; a tool that heeds neither is left behind. */
const runBounded = async (
  outside: Outside,
  threadId: string,
  call: Call,
  tool: Tool,
  args: unknown,
): Promise<Outcome> => {
  const { host, signal } = outside;
  const agent = host.agent(host.read().threads[threadId]?.agent ?? "");
  const ms = tool.timeout(args, agent.commandTimeout);
  const abort = new AbortController();
  const given = Promise.withResolvers<Outcome>();
  const timer = host.after(ms, () => {
    abort.abort();
    given.resolve(
      output(
        toolError("timeout", `${tool.name} took longer than ${ms / 1000} s and was stopped`).content,
        "error",
      ),
    );
  });
  const cancel = (): void => {
    abort.abort();
    given.resolve(output(synthesised.cancelledRunning, "cancelled"));
  };
  signal.addEventListener("abort", cancel, { once: true });
  const context = contextOf(outside, threadId, call, host.now() + ms, abort.signal);
  void Promise.try(() => tool.run(args, context)).then(
    (result) => given.resolve(outcomeOf(result)),
    (error: unknown) => given.resolve(failure(error)),
  );
  try {
    return await given.promise;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", cancel);
  }
};

const outcomeOf = (result: ToolOutput | Parked): Outcome => {
  if ("parked" in result) return { kind: "parked", park: result.parked };
  const status = result.status ?? (result.isError === true ? "error" : "ok");
  return { kind: "output", output: result, status, cached: false };
};

const changesWorkspace = (tool: Tool): boolean => tool.workspace === "write" || tool.workspace === undefined;

const withCache = async (
  outside: Outside,
  threadId: string,
  call: Call,
  { tool }: BoundTool,
  args: unknown,
): Promise<Outcome> => {
  const { cache, host } = outside;
  const enabled = host.agent(host.read().threads[threadId]?.agent ?? "").cacheResults && tool.cache === true;
  const key = enabled ? `${tool.name} ${canonicalJson(args)}` : "";
  const hit = enabled ? cache.get(key) : undefined;
  if (hit !== undefined) return { kind: "output", output: hit, status: "ok", cached: true };
  if (changesWorkspace(tool)) cache.clear();
  const before = cache.epoch();
  const outcome = await runBounded(outside, threadId, call, tool, args);
  if (changesWorkspace(tool)) cache.clear();
  else if (enabled && outcome.kind === "output" && outcome.status === "ok")
    cache.put(key, outcome.output, before);
  return outcome;
};

const contentParts = (content: ToolOutput["content"]): readonly ContentPart[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Cuts the text of an outcome to its limit and keeps the whole for `recall` (SE-18). */
const limited = (
  draft: Draft,
  content: readonly ContentPart[],
  limit: number,
): { content: readonly ContentPart[]; omitted?: number; recall?: string } => {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const id = `b${draft.state.nextBlob}`;
  const cut = limitOutput(text, limit, id);
  if (cut.omitted === 0) return { content };
  draft.state = { ...draft.state, nextBlob: draft.state.nextBlob + 1 };
  draft.blobs.push({ id, text: cut.full });
  const media = content.filter(({ type }) => type !== "text");
  return { content: [{ type: "text", text: cut.text }, ...media], omitted: cut.omitted, recall: id };
};

const clean = (parts: readonly ContentPart[]): readonly ContentPart[] => {
  const cleaned = parts.map((part) =>
    part.type === "text" ? { ...part, text: cleanText(part.text) } : part,
  );
  return cleaned.some((part) => part.type !== "text" || part.text !== "")
    ? cleaned
    : [{ type: "text", text: "(no output)" }];
};

const store = (
  outside: Outside,
  threadId: string,
  call: Call,
  bound: BoundTool | null,
  outcome: Outcome,
): void => {
  const { host, settle } = outside;
  const agent = host.agent(host.read().threads[threadId]?.agent ?? "");
  const { name } = call.call;
  settle((draft) => {
    const { now } = draft.moment;
    const current = findCall(draft.state.threads[threadId]?.run ?? null, call.call.id);
    if (current === null || !isCurrent(draft.state, threadId, call, host.epoch)) return;
    if (outcome.kind === "parked") {
      if (outcome.park.on === "ask")
        opened(draft, threadId, current, "question", { question: outcome.park.question });
      else callPaused(draft, threadId, call.call.id, outcome.park.on, outcome.park.until);
      return;
    }
    const limit = agent.outputLimits[name] ?? bound?.tool.limit ?? defaultLimit;
    const { details, changes, statusText } = outcome.output;
    const prefix: readonly ContentPart[] =
      call.edited === null
        ? []
        : [{ type: "text", text: `[arguments changed by the approver: ${call.edited}]` }];
    const parts = limited(draft, clean([...prefix, ...contentParts(outcome.output.content)]), limit);
    callEnded(draft, threadId, call.call.id, {
      result: { type: "tool_result", call: call.call.id, name, status: outcome.status, ...parts },
      durationMs: outcome.cached ? 0 : Math.max(0, now - (call.startedAt ?? now)),
      cached: outcome.cached,
      ...(details === undefined ? {} : { details }),
      ...(changes === undefined ? {} : { changes }),
      ...(statusText === undefined ? {} : { statusText }),
    });
  });
  host.itemsClosed([call.call.id]);
};

/** Runs the call that the state says is running. */
export const act = async (outside: Outside, threadId: string, call: Call): Promise<void> => {
  const { host } = outside;
  const agent = host.agent(host.read().threads[threadId]?.agent ?? "");
  const bound = agent.tools.get(call.call.name) ?? null;
  if (bound === null) {
    const gone = output(
      toolError("unavailable", `${call.call.name} is not part of this deployment`).content,
      "error",
    );
    store(outside, threadId, call, null, gone);
    return;
  }
  const parsed = parseArguments(bound.tool, call.edited ?? call.call.args);
  const outcome = parsed.ok
    ? await withCache(outside, threadId, call, bound, parsed.args)
    : output(parsed.error.content, "error");
  store(outside, threadId, call, bound, outcome);
};
