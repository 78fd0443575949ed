import { firstCharacters, textOf } from "../chat/text.ts";
import type { Completion } from "../tools/session-request.ts";
import type { Child, ChildEnd, ChildItem, ChildRecord, ChildWork } from "./child.ts";
import { headAndTail, isLonger } from "./cut.ts";
import { agentOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { EndReason, RunState } from "./events.ts";
import { withoutLeaks } from "./guardrail.ts";
import type { RunRecord } from "./records.ts";
import { addUsage, noUsage } from "./usage.ts";
import type { Thread } from "./state.ts";

/** What a called agent's end says, and how its caller reads it (AG-10, AG-24, AG-25). */

const longestSummary = 2_000;
const longestLastText = 200;
/** Characters of all results of a list together. */
const listLength = 32_000;

const limits: readonly EndReason[] = [
  "max_iterations",
  "budget_exceeded",
  "deadline_exceeded",
  "tool_loop",
  "no_progress",
];

/** What an agent said last in the run that it is at, or was. */
const lastText = ({ chat, run: active, lastRun }: Thread): string => {
  const id = active?.id ?? lastRun;
  const said = chat.findLast(
    ({ role, run, parts }) => run === id && role === "assistant" && /\S/.test(textOf(parts)),
  );
  return said === undefined ? "" : textOf(said.parts);
};

const saidAtLast = (draft: Draft, thread: Thread): string =>
  withoutLeaks(agentOf(draft, thread.id).guardrails, lastText(thread));

/** First characters of the last thing an agent said. */
export const shownText = (thread: Thread): string => firstCharacters(lastText(thread), longestLastText);

/** Its own report, or the runtime's where a limit ended it (AG-25). */
export const completionOf = (
  draft: Draft,
  thread: Thread,
  end: { readonly state: RunState; readonly reason: EndReason; readonly error: string | null },
): Completion | null => {
  if (end.state === "completed") return thread.child?.completion ?? null;
  if (end.state !== "failed" || !limits.includes(end.reason)) return null;
  const summary = headAndTail(saidAtLast(draft, thread), longestSummary);
  return { status: "failed", summary, caveats: [end.error ?? end.reason] };
};

/** A report as its caller reads it. */
export const withCaveats = ({ summary, caveats = [] }: Completion): string =>
  caveats.length === 0 ? summary : `${summary}\n\nCaveats:\n${caveats.map((each) => `- ${each}`).join("\n")}`;

/** Keeps a text for `recall`; answers its id. */
export const keptForRecall = (draft: Draft, text: string): string => {
  const id = `b${draft.state.nextBlob}`;
  draft.state = { ...draft.state, nextBlob: draft.state.nextBlob + 1 };
  draft.blobs.push({ id, text });
  return id;
};

/** What a called agent's run did, and those who had its task before (AG-26). */
export const workOf = ({ before }: Child, { result }: RunRecord): ChildWork => {
  const own =
    result === null ? [] : [...result.files_created, ...result.files_modified, ...result.files_deleted];
  return {
    files: [...new Set([...(before?.files ?? []), ...own])].toSorted(),
    usage: addUsage(before?.usage ?? noUsage, result?.usage ?? noUsage),
  };
};

/** Observed changes, and those only claimed, marked so. */
const filesOf = ({ files }: ChildWork, completion: Completion | null): readonly string[] => {
  const claimed = (completion?.files_modified ?? []).filter((path) => !files.includes(path));
  return [...files, ...claimed.map((path) => `${path} (claimed)`)];
};

/** The end of a called thread, from the record of its run. */
export const childEnd = (
  draft: Draft,
  thread: Thread,
  child: Child,
  run: RunRecord & { readonly state: RunState; readonly reason: EndReason },
  maxLength: number,
): ChildEnd => {
  const { state, reason, error } = run;
  const completion = completionOf(draft, thread, { state, reason, error });
  const work = workOf(child, run);
  const whole = completion === null ? (run.result?.text ?? "") : withCaveats(completion);
  const recall = isLonger(whole, maxLength) ? keptForRecall(draft, whole) : null;
  return {
    state,
    reason,
    error: state === "cancelled" ? (child.stopped?.why ?? "it was cancelled") : error,
    result: headAndTail(whole, maxLength, recall),
    recall,
    completion,
    files_modified: filesOf(work, completion),
    usage: work.usage,
    turns: run.turns,
    last_text: firstCharacters(saidAtLast(draft, thread), longestLastText),
    handoffs: child.handoffs,
    ...(child.before === undefined ? {} : { first: child.before.first }),
    warning: child.warning,
    run: run.id,
    ended_at: draft.moment.now,
  };
};

/** A child that has ended, as its caller reads it. */
export const itemOf = ({ id, agent, end }: ChildRecord): ChildItem => {
  if (end === null) return { agent, child: id, state: "running" };
  const { completion, error, result } = end;
  const shown = completion === null ? {} : { completion: shortCompletion(completion) };
  return {
    agent,
    child: id,
    state: end.state,
    reason: end.reason,
    ...(end.state === "completed" ? { result: result ?? "" } : { error: error ?? end.reason }),
    ...shown,
    files_modified: end.files_modified,
    usage: end.usage,
    ...(end.handoffs === 0 ? {} : { handoffs: end.handoffs }),
    ...(end.warning === null ? {} : { warning: end.warning }),
  };
};

/** The summary stands in the result already. */
const shortCompletion = (completion: Completion): Completion => ({
  ...completion,
  summary: headAndTail(completion.summary, longestSummary),
});

/** A share of the list's length for each result: what short ones leave over goes to the long ones. */
const shareOf = (lengths: readonly number[]): number => {
  let left = listLength;
  let open = lengths.length;
  for (const length of lengths.toSorted((a, b) => a - b)) {
    const share = Math.floor(left / open);
    if (length > share) return share;
    left -= length;
    open -= 1;
  }
  return listLength;
};

/** Items whose results are together no longer than a list may be; the whole of what is cut stays readable (AG-24). */
export const fittedItems = (
  draft: Draft,
  items: readonly { readonly item: ChildItem; readonly recall: string | null }[],
): readonly ChildItem[] => {
  const share = shareOf(items.map(({ item }) => [...(item.result ?? "")].length));
  return items.map(({ item, recall }) => {
    const { result = "" } = item;
    if (!isLonger(result, share)) return item;
    return { ...item, result: headAndTail(result, share, recall ?? keptForRecall(draft, result)) };
  });
};

/** A child as prompts name it (AG-15). */
export const calledBy = ({ agent, id }: Pick<ChildRecord, "agent" | "id">): string => `${agent} (${id})`;

/** The one child's end as text: its result, or why there is none (AG-24). */
export const answerText = (record: ChildRecord, end: ChildEnd): string => {
  if (end.state === "completed") return end.result === "" ? "(no result)" : (end.result ?? "");
  const why = `${end.state}: ${calledBy(record)} ended with ${end.reason}: ${end.error ?? end.reason}`;
  return end.completion === null || end.result === null ? why : `${why}\n\n${end.result}`;
};
