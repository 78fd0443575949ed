import type { ContentPart } from "../chat/message.ts";
import { cleanText } from "../chat/text.ts";
import { parseArguments } from "../tools/arguments.ts";
import type { Parked, Tool, ToolOutput } from "../tools/define-tool.ts";
import { canonicalJson } from "../tools/canonical.ts";
import { toolError } from "../tools/errors.ts";
import { limitOutput } from "../tools/output.ts";
import type { BoundTool } from "./agent.ts";
import { opened } from "./asks.ts";
import { callPaused } from "./calls.ts";
import type { Draft } from "./draft.ts";
import type { Outside } from "./outside.ts";
import { callEnded, findCall } from "./outcomes.ts";
import type { Settlement } from "./outcomes.ts";
import type { Call } from "./state.ts";
import { isCurrent, output, runBounded } from "./tool-run.ts";
import type { Outcome } from "./tool-run.ts";

/** One tool call, from the stored `running` to the stored outcome (SE-15): cache, tool, limits. */

const defaultLimit = 32_000;

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
  if (hit !== undefined) return { kind: "output", output: hit, status: "ok", cache: "hit" };
  if (changesWorkspace(tool)) cache.clear();
  const before = cache.epoch();
  const outcome = await runBounded(outside, threadId, call, tool, args);
  if (changesWorkspace(tool)) cache.clear();
  if (!enabled || outcome.kind === "parked") return outcome;
  if (outcome.status === "ok") cache.put(key, outcome.output, before);
  return { ...outcome, cache: "miss" };
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

/** An output as it is stored: cleaned, told of an approver's change, cut to its limit. */
const settlementOf = (
  draft: Draft,
  call: Call,
  { output: { content, details, changes, statusText }, status, cache }: Extract<Outcome, { kind: "output" }>,
  limit: number,
): Settlement => {
  const prefix: readonly ContentPart[] =
    call.edited === null
      ? []
      : [{ type: "text", text: `[arguments changed by the approver: ${call.edited}]` }];
  const parts = limited(draft, clean([...prefix, ...contentParts(content)]), limit);
  const { now } = draft.moment;
  const { id, name } = call.call;
  return {
    result: { type: "tool_result", call: id, name, status, ...parts },
    durationMs: cache === "hit" ? 0 : Math.max(0, now - (call.startedAt ?? now)),
    cached: cache === "hit",
    ...(cache === "miss" ? { missed: true } : {}),
    ...(details === undefined ? {} : { details }),
    ...(changes === undefined ? {} : { changes }),
    ...(statusText === undefined ? {} : { statusText }),
  };
};

const parkedOn = (draft: Draft, threadId: string, call: Call, park: Parked["parked"]): void => {
  if (park.on === "ask") opened(draft, threadId, call, "question", { question: park.question });
  else callPaused(draft, threadId, call.call.id, park.on, park.until);
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
  const { id, name } = call.call;
  const limit = agent.outputLimits[name] ?? bound?.tool.limit ?? defaultLimit;
  settle((draft) => {
    const current = findCall(draft.state.threads[threadId]?.run ?? null, id);
    if (current === null || !isCurrent(draft.state, threadId, call, host.epoch)) return;
    if (outcome.kind === "parked") parkedOn(draft, threadId, current, outcome.park);
    else callEnded(draft, threadId, id, settlementOf(draft, current, outcome, limit));
  });
  host.itemsClosed([id]);
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
