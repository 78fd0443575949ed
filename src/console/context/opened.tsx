import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../parts/controls.tsx";
import { DiffView } from "../parts/diff-view.tsx";
import { diffTexts } from "../parts/compare-texts.ts";
import { escapeInLine, escapeInLines } from "../parts/escape.ts";
import { countLines, countOf, formatCount } from "../parts/format.ts";
import { useLoad } from "../parts/load.ts";
import { useApp, useSession } from "../state/app.ts";
import { blocksOf, joinBlocks, originalText, readOriginals } from "./originals.ts";
import type { OriginalBlock, WireMessage } from "./originals.ts";
import { describeRow } from "./reasons.ts";
import { isLeftOut } from "./row-list.ts";
import type { ContextRow, ContextView } from "./view.ts";

/** What an opened row shows: why it is as it is, the text or the originals, and what can be done. */

/** Loads the originals of what a row stands for, the newest first where there are too many. */
const useOriginals = (row: ContextRow, thread: string, wanted: boolean): readonly WireMessage[] | null => {
  const { api } = useApp();
  const { id } = useSession();
  const loaded = useLoad(`${id} ${row.id} ${String(wanted)}`, (signal) =>
    wanted ? readOriginals(api, id, thread, [row], signal) : Promise.resolve(null),
  );
  return loaded.value;
};

/** Loads the texts of rows that are not in the request as they were, by row, once somebody looks for one. */
export const useOriginalTexts = (
  rows: readonly ContextRow[],
  thread: string,
  wanted: boolean,
): ReadonlyMap<string, string> | null => {
  const { api } = useApp();
  const { id } = useSession();
  const left = rows.filter(isLeftOut);
  const key = `${id} ${thread} ${left.map((row) => row.id).join(" ")} ${String(wanted)}`;
  const loaded = useLoad(key, async (signal) => {
    const originals = wanted ? await readOriginals(api, id, thread, left, signal) : [];
    const texts = new Map(originals.map((message) => [message.id, originalText(message)]));
    return new Map(left.map((row) => [row.id, row.messages.map((each) => texts.get(each) ?? "").join("\n")]));
  });
  return loaded.value;
};

/** Takes the marks of the view off a text, so that it compares with the original. */
const bareText = (text: string): string => text.replace(/^\[\w+\] /, "");

const Block = ({ block }: { readonly block: OriginalBlock }) => {
  const { name, isCode, role, tokens, shortened, text, calls } = block;
  const words = shortened === null ? "" : `, shortened to ${formatCount(shortened.tokens)}`;
  return (
    <li>
      <p class="original-head">
        <span class={`cut ${isCode ? "mono" : "context-name"}`} title={escapeInLine(name)}>
          {escapeInLine(name)}
        </span>
        <span class="meta">{role}</span>
        {shortened?.by != null && <span class="mono meta">{escapeInLine(shortened.by)}</span>}
        <span class="meta">
          {countOf(tokens, "token")}
          {words}
        </span>
      </p>
      {text.trim() !== "" && (
        <pre class="sheet" tabIndex={0} aria-label={`${escapeInLine(name)}, the whole text`}>
          {escapeInLines(text)}
        </pre>
      )}
      {calls.length > 0 && (
        <ul class="original-calls" aria-label="Calls">
          {calls.map((call, at) => (
            <li key={at} class="mono">
              {escapeInLine(call)}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
};

interface OriginalsProps {
  readonly blocks: readonly OriginalBlock[];
  readonly count: number;
}

const Originals = ({ blocks, count }: OriginalsProps) => (
  <>
    {blocks.length < count && (
      <p class="quiet-text">{countOf(blocks.length, "message")} of them stand here, the newest.</p>
    )}
    <ol class="originals framed" aria-label="The messages">
      {blocks.map((block) => (
        <Block key={block.id} block={block} />
      ))}
    </ol>
  </>
);

const Comparison = ({ original, sent }: { readonly original: string; readonly sent: string }) => {
  const diff = useMemo(() => diffTexts(original, sent), [original, sent]);
  return (
    <div class="framed">
      <p class="diff-gap">
        Original, {countOf(countLines(original), "line")} → as sent, {countOf(countLines(sent), "line")}
      </p>
      <DiffView diff={diff} bare label="Original and what was sent" />
    </div>
  );
};

interface ActionsProps {
  readonly row: ContextRow;
  readonly text: string;
}

const Actions = ({ row, text }: ActionsProps) => {
  const { api, report, go } = useApp();
  const { id } = useSession();
  const [pinned, setPinned] = useState(false);
  const [message] = row.messages;
  const pin = (): void =>
    report(
      api
        .request(`/sessions/${id}/messages/${message}`, { method: "PATCH", body: { pinned: true } })
        .then(() => setPinned(true)),
    );
  return (
    <div class="context-actions">
      {row.state === "overlaid" && message !== undefined && (
        <button type="button" class="button" disabled={pinned} onClick={pin}>
          {pinned ? "Sent whole from now on" : "Pin, so it is sent whole"}
        </button>
      )}
      {row.places.length > 0 && (
        <button type="button" class="plain" onClick={() => go({ session: id, context: null })}>
          Show in the conversation
        </button>
      )}
      <CopyButton text={text} label="Copy" words="Copy" />
    </div>
  );
};

interface OpenedProps {
  readonly row: ContextRow;
  readonly view: ContextView;
  readonly shrinksAt: number | null;
}

export const Opened = ({ row, view, shrinksAt }: OpenedProps) => {
  const { state, by, text } = row;
  const originals = useOriginals(row, view.thread, state === "overlaid" || state === "retired");
  const [first] = originals ?? [];
  const blocks = useMemo(() => blocksOf(originals ?? [], view.agent), [originals, view.agent]);
  return (
    <div class="context-opened">
      <p class="quiet-text">
        {describeRow(row, shrinksAt)} {by !== null && <span class="mono meta">{escapeInLine(by)}</span>}
      </p>
      {state === "retired" && originals !== null && <Originals blocks={blocks} count={row.messages.length} />}
      {state === "overlaid" && first !== undefined && (
        <Comparison original={originalText(first)} sent={bareText(text)} />
      )}
      {state !== "retired" && (state !== "overlaid" || first === undefined) && (
        <pre class="sheet framed" tabIndex={0}>
          {escapeInLines(text)}
        </pre>
      )}
      <Actions row={row} text={state === "retired" ? joinBlocks(blocks) : text} />
    </div>
  );
};
