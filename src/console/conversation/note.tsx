import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NoteEntry } from "../../client/transcript.ts";
import { AskCard, UnusedEdit } from "../asks/index.ts";
import { describeClosed } from "../asks/closed.ts";
import { readEdit } from "../asks/edits.ts";
import { DiffCount } from "../calls/diff-count.tsx";
import { CopyButton } from "../parts/controls.tsx";
import { parseDiff } from "../parts/diff.ts";
import { escapeInLine, escapeInLines, escapeJson } from "../parts/escape.ts";
import { countOf, formatTime } from "../parts/format.ts";
import { memo } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { lazy } from "../parts/lazy.tsx";
import { explainFailure } from "../sessions/status.ts";
import { useApp, useSession } from "../state/app.ts";
import { DiffView } from "./call.tsx";
import { Line } from "./line.tsx";
import { describeFailure, describeNote, endSentence } from "./sentences.ts";
import type { NoteOf } from "./sentences.ts";

/** Something else that happened, in a sentence where it happened. */

const Returned = lazy(async () => (await import("./rare-notes.tsx")).Returned);
const Verify = lazy(async () => (await import("./rare-notes.tsx")).Verify);

const Mark = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="entry mark">
    <span>{children}</span>
  </p>
);

const PersonsChange = ({ event }: { readonly event: NoteOf<"file_change"> }) => {
  const [open, setOpen] = useState(false);
  const { path, op, diff: unified } = event.data;
  if (event.data.tool !== null) return null;
  const diff = parseDiff(unified ?? "");
  const verb = { create: "You added", modify: "You changed", delete: "You deleted", move: "You moved" }[op];
  return (
    <div class="entry tool">
      <Line
        icon="pencil"
        open={open}
        onToggle={() => setOpen(!open)}
        result={unified === undefined ? "" : <DiffCount {...diff} />}
        time=""
      >
        <strong>{verb}</strong> <span class="mono">{escapeInLine(path)}</span>
      </Line>
      {open && unified !== undefined && <DiffView diff={diff} label={`Changes of ${escapeInLine(path)}`} />}
    </div>
  );
};

/** Leads to what the model saw from then on. */
const Compaction = ({ event }: { readonly event: NoteOf<"compaction"> }) => {
  const { go, route } = useApp();
  const { tokens_before: before, tokens_after: after, stage } = event.data;
  if (stage === "failed")
    return (
      <Mark>
        What the model sees could not be shortened: {escapeInLine(event.data.message ?? "the summary failed")}
        .
      </Mark>
    );
  const { run, turn } = event;
  return (
    <Mark>
      Shortened what the model sees by {countOf(before - after, "token")}{" "}
      {run !== undefined && turn !== undefined && (
        <button
          type="button"
          class="link"
          onClick={() => go({ ...route.get(), context: { run, turn, call: null } })}
        >
          what changed
        </button>
      )}
    </Mark>
  );
};

const RunEnd = ({ event }: { readonly event: NoteOf<"run_end"> }) => {
  const { report } = useApp();
  const session = useSession();
  const { state, reason, error, message } = event.data;
  if (state === "completed") return null;
  if (state === "cancelled")
    return <Mark>Stopped{reason === "cancelled" ? "" : ` · ${reason.replaceAll("_", " ")}`}.</Mark>;
  return (
    <section class="entry failure" aria-label="The run stopped">
      <h2>
        <Icon name="warning" />
        The run stopped: {explainFailure(reason)}
      </h2>
      <p>
        {escapeInLines(endSentence(describeFailure(error?.detail ?? message ?? "")))} Your files and this
        conversation are safe.
      </p>
      <div class="failure-buttons">
        <button type="button" class="button" onClick={() => report(session.send("Go on.", "queue"))}>
          Go on
        </button>
        <CopyButton text={escapeJson(event)} label="Copy details" words="Copy details" />
      </div>
    </section>
  );
};

const OwnAsk = ({ entry, agent }: { readonly entry: NoteEntry; readonly agent: string }) => {
  const { keyName } = useSession();
  const { ask } = entry;
  if (ask === null) return null;
  if (ask.status === "open")
    return (
      <div class="entry asking">
        <AskCard ask={ask} agent={agent} />
      </div>
    );
  const { icon, good, who, said } = describeClosed(ask, keyName, null);
  return (
    <>
      <p class="entry tool line closed-ask">
        <Icon name={icon} class={good ? "good" : ""} />
        <span class="line-words">
          <strong>{who}</strong>
          {said === "" ? "" : ` · ${said}`}
        </span>
        <span class="line-time">{formatTime(ask.closed_at ?? entry.at, Date.now())}</span>
      </p>
      {readEdit(ask.id) !== null && <UnusedEdit ask={ask} />}
    </>
  );
};

interface NoteProps {
  readonly entry: NoteEntry;
  readonly thread: string;
  readonly agent: string;
}

export const Note = memo<NoteProps>(({ entry, thread, agent }) => {
  const { event } = entry;
  if (event.type === "ask_user") return <OwnAsk entry={entry} agent={agent} />;
  if (event.type === "verify") return <Verify event={event} />;
  if (event.type === "file_change") return <PersonsChange event={event} />;
  if (event.type === "input_returned") return <Returned event={event} />;
  if (event.type === "compaction") return <Compaction event={event} />;
  if (event.type === "run_end") return thread === "main" ? <RunEnd event={event} /> : null;
  const sentence = describeNote(event);
  return sentence === null ? null : <Mark>{escapeInLine(sentence)}</Mark>;
});
