import { useState } from "preact/hooks";
import type { MessageEntry } from "../../client/transcript.ts";
import { CopyButton } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { formatTokens } from "../parts/format.ts";
import { memo } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { useApp, useSession } from "../state/app.ts";
import { lazy } from "../parts/lazy.tsx";
import { Line } from "./line.tsx";

const Attached = lazy(async () => (await import("./attached.tsx")).Attached);

/** A message: a person's as a bubble, an agent's as prose, what effects tell the model as a folded line. */

type MessagePart = MessageEntry["parts"][number];

const textIn = (parts: readonly MessagePart[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");

type AttachedPart = Extract<MessagePart, { readonly type: "image" | "document" }>;

/** What was sent as an address stays where it is: the page loads nothing from elsewhere. */
const Attachment = ({ part }: { readonly part: AttachedPart }) => {
  const [open, setOpen] = useState(false);
  const words = (
    <>
      <Icon name="clip" /> {escapeInLine(part.name ?? part.media_type)}
    </>
  );
  if (part.blob === undefined) return <span class="attachment">{words}</span>;
  return (
    <>
      <button type="button" class="attachment" onClick={() => setOpen(true)}>
        {words}
      </button>
      {open && <Attached part={part} onClose={() => setOpen(false)} />}
    </>
  );
};

const Attachments = ({ parts }: { readonly parts: readonly MessagePart[] }) => (
  <>
    {parts.map((part, at) =>
      part.type === "image" || part.type === "document" ? <Attachment key={at} part={part} /> : null,
    )}
  </>
);

/** A person's message with more lines is folded. */
const mostLines = 24;

const Said = ({ text }: { readonly text: string }) => {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.split("\n").length <= mostLines) return <Markdown text={text} breaks />;
  return (
    <>
      <div class="folded">
        <Markdown text={text} breaks />
      </div>
      <button type="button" class="link" aria-expanded={false} onClick={() => setWhole(true)}>
        Show all
      </button>
    </>
  );
};

const Person = ({ entry }: { readonly entry: MessageEntry }) => (
  <div class="entry said" data-entry={entry.id}>
    {entry.sender !== undefined && <span class="meta">{escapeInLine(entry.sender)}</span>}
    <div class="bubble">
      <Said text={textIn(entry.parts)} />
      <Attachments parts={entry.parts} />
    </div>
    {entry.marks?.includes("steering") === true && <span class="meta">Sent while it worked</span>}
  </div>
);

const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

/** Reasoning, folded: while it grows it is one line that says so. */
const Reasoning = ({ text, open: grows }: { readonly text: string; readonly open: boolean }) => {
  const [open, setOpen] = useState(false);
  if (text.trim() === "" && !grows) return null;
  return (
    <div class="entry tool">
      <Line
        icon="lines"
        open={open}
        onToggle={() => setOpen(!open)}
        result=""
        time={grows ? <span class="ring" /> : ""}
      >
        {grows ? "Thinking" : `Thought, ${wordsIn(text)} words`}
      </Line>
      {open && (
        <div class="line-body reasoning">
          <Markdown text={text} open={grows} />
        </div>
      )}
    </div>
  );
};

const MoreText = ({ entry, thread }: { readonly entry: MessageEntry; readonly thread: string }) => {
  const { open } = useSession();
  const { report } = useApp();
  return (
    <button type="button" class="link" onClick={() => report(open.loadWhole(thread, entry.id))}>
      Show the rest
    </button>
  );
};

/** Texts that follow each other are one. */
const joinTexts = (parts: readonly MessagePart[]): readonly MessagePart[] => {
  const joined: MessagePart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text")
      joined[joined.length - 1] = { ...last, text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
};

const Agent = ({ entry, thread }: { readonly entry: MessageEntry; readonly thread: string }) => (
  <>
    {joinTexts(entry.parts).map((part, at, parts) => {
      const grows = entry.open && at === parts.length - 1;
      if (part.type === "reasoning") return <Reasoning key={at} text={part.text} open={grows} />;
      if (part.type !== "text" || (part.text.trim() === "" && !grows)) return null;
      return (
        <div key={at} class="entry speech" data-entry={entry.id}>
          <Markdown text={part.text} open={grows} />
          {!grows && <CopyButton text={part.text} label="Copy this answer" />}
        </div>
      );
    })}
    {entry.truncated && <MoreText entry={entry} thread={thread} />}
    {/* In the person's own thread the end of the run says so. */}
    {thread !== "main" && entry.marks?.includes("partial") === true && (
      <p class="entry mark">The reply was stopped here.</p>
    )}
  </>
);

/** A note says by its first line what the agent was told; the row cuts it where it is long. */
const noteTitle = ({ summary }: MessageEntry, text: string): string =>
  summary === undefined ? `Told the agent: ${text.trim().split("\n")[0]}` : "Summary of what was before";

/** What an effect or the runtime told the agent. */
const RuntimeNote = ({ entry }: { readonly entry: MessageEntry }) => {
  const [open, setOpen] = useState(false);
  const text = textIn(entry.parts);
  return (
    <div class="entry tool" data-entry={entry.id}>
      <Line
        icon="note"
        open={open}
        onToggle={() => setOpen(!open)}
        result=""
        time={`${formatTokens(text.length / 4)} tokens`}
      >
        <span class="verb">{escapeInLine(noteTitle(entry, text))}</span>
      </Line>
      {open && (
        <div class="line-body reasoning">
          <Markdown text={text} />
        </div>
      )}
    </div>
  );
};

export const Message = memo<{ readonly entry: MessageEntry; readonly thread: string }>(
  ({ entry, thread }) => {
    if (entry.role === "assistant") return <Agent entry={entry} thread={thread} />;
    if (entry.role !== "user") return null;
    if (entry.origin === "human") return <Person entry={entry} />;
    // The task of a called agent stands in its row.
    return entry.origin === "agent" && thread !== "main" ? null : <RuntimeNote entry={entry} />;
  },
);
