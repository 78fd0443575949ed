import type { Message, ToolCallPart, ToolResultPart } from "../../chat/message.ts";
import { parseJson } from "../../chat/json.ts";
import { countCharacters, preview, textOf } from "../../chat/text.ts";
import { countText, withReferences } from "./texts.ts";

/** Creates digests: lines that replace a result and name the call and the size of its output (`style: digest`). */

const subjectLength = 80;
const lastLineLength = 120;

/** Arguments that tell what a call is about; the first one present is used. */
const subjects = [
  "path",
  "file",
  "file_path",
  "source",
  "script",
  "pattern",
  "query",
  "url",
  "exec_id",
  "name",
];

const argumentsOf = (args: string): Readonly<Record<string, unknown>> => {
  const value = parseJson(args);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
};

/** Returns in one short line what a call is about; empty if its arguments do not tell. */
const subjectOf = (call: ToolCallPart | undefined): string => {
  const args = argumentsOf(call?.args ?? "");
  const { command, args: words } = args;
  if (typeof command === "string")
    return preview([command, ...(Array.isArray(words) ? words.map(String) : [])].join(" "), subjectLength);
  const key = subjects.find((each) => typeof args[each] === "string");
  return key === undefined ? "" : preview(String(args[key]), subjectLength);
};

const countLines = (text: string): number => (text === "" ? 0 : text.replace(/\n$/, "").split("\n").length);

const exitOf = (text: string): string | null => {
  const [whole, code] = /(?:^|\n)\[exit (-?\d+)\]\s*$/.exec(text) ?? [];
  if (whole === undefined || code === undefined) return null;
  const last =
    text
      .slice(0, text.length - whole.length)
      .trimEnd()
      .split("\n")
      .at(-1) ?? "";
  return last === "" ? `exit ${code}` : `exit ${code}, last line: ${preview(last, lastLineLength)}`;
};

const sizeOf = (tool: string, text: string): string => {
  const exit = exitOf(text);
  if (exit !== null) return exit;
  if (/read/i.test(tool)) return `${countText(countLines(text), "line")}, read again if needed`;
  if (/search|grep|find|list|glob/i.test(tool)) return countText(countLines(text), "line");
  return countText(countCharacters(text), "character");
};

/** Returns the digest of a result; `call` is the call that it answers, if known. */
export const digestText = (
  message: Pick<Message, "id">,
  { name, content }: ToolResultPart,
  call: ToolCallPart | undefined,
): string => {
  const subject = subjectOf(call);
  const what = subject === "" ? name : `${name} ${subject}`;
  return withReferences(message, content, `[${what}: ${sizeOf(name, textOf(content))}]`);
};
