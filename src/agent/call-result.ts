import type { ContentPart, ResultStatus, ToolResultPart } from "../chat/message.ts";
import { cleanText } from "../chat/text.ts";
import { errorText } from "../tools/errors.ts";
import type { ToolErrorCode } from "../tools/errors.ts";
import { limitOutput } from "../tools/output.ts";
import { agentOf, keptForRecall } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { callClosed } from "./outcomes.ts";
import { own } from "./own.ts";
import type { Call } from "./call.ts";

/** The result of a call as the chat keeps it, whoever gave it: a tool, a person or a client. */

const defaultLimit = 32_000;

/** Cuts the text of a result to its limit and keeps the whole for `recall` (SE-18). */
const limited = (
  draft: Draft,
  content: readonly ContentPart[],
  limit: number,
): Pick<ToolResultPart, "content" | "omitted" | "recall"> => {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const cut = limitOutput(text, limit, `b${draft.state.nextBlob}`);
  if (cut.omitted === 0) return { content };
  const id = keptForRecall(draft, cut.full);
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

/** What was run if it is not what the model asked for (SE-30). */
const withChange = (parts: readonly ContentPart[], edited: string | null): readonly ContentPart[] => {
  if (edited === null) return parts;
  const said = `[arguments changed by the approver: ${edited}]`;
  const [first, ...rest] = parts;
  return first?.type === "text"
    ? [{ ...first, text: `${said}\n${first.text}` }, ...rest]
    : [{ type: "text", text: said }, ...parts];
};

/** Cleaned, told of an approver's change, and cut to the tool's limit. */
export const callResult = (
  draft: Draft,
  threadId: string,
  { call: { id, name }, edited }: Call,
  status: ResultStatus,
  content: string | readonly ContentPart[],
): ToolResultPart => {
  const { outputLimits, tools } = agentOf(draft, threadId);
  const limit = own(outputLimits, name) ?? tools.get(name)?.tool.limit ?? defaultLimit;
  const given: readonly ContentPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const parts = clean(withChange(given, edited));
  return { type: "tool_result", call: id, name, status, ...limited(draft, parts, limit) };
};

/** Answers a call that no tool runs for. */
export const callAnswered = (
  draft: Draft,
  threadId: string,
  call: Call,
  content: string | readonly ContentPart[],
  ok = true,
): void => callClosed(draft, threadId, callResult(draft, threadId, call, ok ? "ok" : "error", content));

/** Refuses a call that no tool runs for. */
export const callRefused = (
  draft: Draft,
  threadId: string,
  call: Call,
  code: ToolErrorCode,
  sentence: string,
): void => callAnswered(draft, threadId, call, errorText(code, sentence), false);
