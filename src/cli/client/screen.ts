import type {
  CallEntry,
  MessageEntry,
  Transcript,
  TranscriptEntry,
  TranscriptThread,
} from "../../client/index.ts";
import { callLine, money, oneLine, outputText, toPlainText } from "./plain.ts";

/** Writes a growing transcript to a terminal: written text stays, and only new text follows. */

/** Content that a terminal already shows. */
export interface ScreenState {
  /** Entries that are completely written, by thread and id. */
  readonly written: ReadonlySet<string>;
  /** Reply that is being written, and its text so far. */
  readonly open: { readonly key: string; readonly text: string } | null;
}

export const emptyScreen: ScreenState = { written: new Set(), open: null };

interface ScreenDraft {
  readonly threads: ReadonlyMap<string, TranscriptThread>;
  readonly written: Set<string>;
  open: ScreenState["open"];
  text: string;
  /** Whether messages of the person are written, too. */
  readonly echo: boolean;
}

type NoteEvent = Extract<TranscriptEntry, { readonly kind: "note" }>["event"];

type RunEnd = Extract<NoteEvent, { readonly type: "run_end" }>["data"];

const keyOf = (thread: TranscriptThread, entry: TranscriptEntry): string => `${thread.id} ${entry.id}`;

/** Begins a new line; a reply that was being written ends there. */
const writeLine = (draft: ScreenDraft, depth: number, text: string): void => {
  if (draft.open !== null && draft.open.text !== "") draft.text += "\n";
  draft.open = null;
  const indent = "  ".repeat(depth);
  draft.text += `${text
    .split("\n")
    .map((line) => `${indent}${line}`.trimEnd())
    .join("\n")}\n`;
};

/**
 * Writes the entry of a thread; agents that work at the same time are distinguished by the marks before their
 * names.
 */
const writeOf = (draft: ScreenDraft, { depth, prefix }: TranscriptThread, text: string): void =>
  writeLine(draft, depth, depth === 0 ? text : `${toPlainText(prefix)} ${text}`.trimStart());

const textOf = ({ parts }: MessageEntry): string =>
  toPlainText(parts.flatMap((part) => (part.type === "text" ? part.text : [])).join(""));

/** Returns whether an entry continues the open reply: a cancelled reply is stored as another message. */
const isSameReply = (
  open: NonNullable<ScreenState["open"]>,
  key: string,
  { marks }: MessageEntry,
  text: string,
) =>
  open.key === key ||
  (marks?.includes("partial") === true && (text.startsWith(open.text) || open.text.startsWith(text)));

/** Writes the new part of a reply of `main`, which may still grow. */
const writeReply = (draft: ScreenDraft, key: string, entry: MessageEntry): void => {
  const text = textOf(entry);
  const { open } = draft;
  const goesOn = open !== null && isSameReply(open, key, entry, text);
  if (open !== null && !goesOn && open.text !== "") draft.text += "\n";
  draft.text += text.slice(goesOn ? open.text.length : 0);
  draft.open = { key, text };
  if (entry.open) return;
  if (text !== "" && !text.endsWith("\n")) draft.text += "\n";
  draft.open = null;
};

const isSaid = ({ role, origin, summary }: MessageEntry): boolean =>
  summary === undefined && (role === "assistant" || (role === "user" && origin === "human"));

const writeMessage = (
  draft: ScreenDraft,
  thread: TranscriptThread,
  key: string,
  entry: MessageEntry,
): boolean => {
  if (!isSaid(entry)) return true;
  if (entry.role === "user") {
    if (draft.echo || thread.id !== "main") writeOf(draft, thread, `> ${textOf(entry)}`);
    return true;
  }
  if (thread.id === "main") writeReply(draft, key, entry);
  else if (!entry.open && textOf(entry) !== "") writeOf(draft, thread, textOf(entry));
  return !entry.open;
};

const nameOf = ({ prefix, agent, label }: TranscriptThread): string =>
  `${toPlainText(prefix)} ${toPlainText(label ?? agent)}`.trim();

const endLine = (thread: TranscriptThread): string =>
  [nameOf(thread), thread.state, money(thread.usage.cost_usd)].filter((part) => part !== "").join("  ");

/** Writes a line for a single event of a called agent. */
const writeOnce = (draft: ScreenDraft, key: string, depth: number, line: string): void => {
  if (!draft.written.has(key)) writeLine(draft, depth, line);
  draft.written.add(key);
};

/** Writes a call when it has ended; one that called agents when the first of them begins, with their lines below it. */
const writeCall = (draft: ScreenDraft, thread: TranscriptThread, key: string, entry: CallEntry): boolean => {
  const isDone = entry.state === "done";
  if (entry.children.length === 0) {
    if (isDone) writeOf(draft, thread, `· ${callLine(entry)}`);
    return isDone;
  }
  writeOnce(draft, `${key} head`, thread.depth, `▸ ${callLine({ ...entry, duration_ms: null })}`);
  for (const id of entry.children) {
    const child = draft.threads.get(id);
    if (child === undefined) continue;
    writeOnce(draft, `${key} begin of ${id}`, thread.depth + 1, `${nameOf(child)} begins`);
    writeThread(draft, child);
    if (child.run === null && child.ended_at !== null)
      writeOnce(draft, `${key} end of ${id}`, thread.depth + 1, endLine(child));
  }
  return isDone;
};

const endWords = ({ state, reason, error }: RunEnd): string =>
  state === "cancelled" ? "stopped" : `run ${state}: ${oneLine(error?.detail ?? reason, 400)}`;

/** Returns the note about a thread that a person needs to know; null if there is none. */
const noteLine = ({ id }: TranscriptThread, event: NoteEvent): string | null => {
  if (event.type === "run_end" && id === "main" && event.data.state !== "completed")
    return endWords(event.data);
  if (event.type === "attempt_aborted" && event.data.code !== "cancelled")
    return `(the model call failed: ${toPlainText(event.data.code)}${event.data.retry_at === null ? "" : "; it is tried again"})`;
  if (event.type === "mcp_status" && event.data.state !== "connected")
    return `(${oneLine(["MCP server", event.data.server, event.data.state, event.data.error ?? ""].join(" "), 400)})`;
  return event.type === "input_returned"
    ? `(not taken up: ${oneLine(outputText(event.data.content))})`
    : null;
};

const writeEntry = (
  draft: ScreenDraft,
  thread: TranscriptThread,
  key: string,
  entry: TranscriptEntry,
): boolean => {
  if (entry.kind === "message") return writeMessage(draft, thread, key, entry);
  if (entry.kind === "call") return writeCall(draft, thread, key, entry);
  const line = noteLine(thread, entry.event);
  if (line !== null) writeOf(draft, thread, line);
  return true;
};

/** Writes the new entries of a thread in their order: none precedes a reply that is still growing. */
const writeThread = (draft: ScreenDraft, thread: TranscriptThread): void => {
  for (const entry of thread.entries) {
    const key = keyOf(thread, entry);
    if (draft.written.has(key)) continue;
    if (writeEntry(draft, thread, key, entry)) draft.written.add(key);
    else if (entry.kind === "message") return;
  }
};

/** Returns the text that updates a terminal to a transcript, and its content then. */
export const writeTranscript = (
  { threads }: Pick<Transcript, "threads">,
  before: ScreenState,
  echo = false,
): { readonly text: string; readonly screen: ScreenState } => {
  const draft: ScreenDraft = {
    threads: new Map(threads.map((thread) => [thread.id, thread])),
    written: new Set(before.written),
    open: before.open,
    text: "",
    echo,
  };
  const main = draft.threads.get("main");
  if (main !== undefined) writeThread(draft, main);
  return { text: draft.text, screen: { written: draft.written, open: draft.open } };
};
