import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../parts/controls.tsx";
import { DiffView } from "../parts/diff-view.tsx";
import { diffTexts } from "../parts/diff.ts";
import { escapeInLine, escapeInLines } from "../parts/escape.ts";
import { countLines, countOf, formatCount } from "../parts/format.ts";
import { useLoad } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { useApp, useSession } from "../state/app.ts";
import type { ContextRow, ContextView, RowState } from "./view.ts";
import { foldRows } from "./view.ts";

/** The messages of a model call, one row each. */

const stateWords: Readonly<Record<RowState, string>> = {
  full: "full",
  overlaid: "overlaid",
  summary: "summary",
  note: "note",
  retired: "retired",
};

/** Each state has a shape of its own, so that no colour is needed to tell them apart. */
const StateSign = ({ state }: { readonly state: RowState }) => (
  <svg class={`state-sign ${state}`} width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
    {state === "full" && <circle cx="6" cy="6" r="3.2" fill="currentColor" />}
    {state === "overlaid" && (
      <>
        <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.3" />
        <path d="M6 1.8a4.2 4.2 0 0 0 0 8.4z" fill="currentColor" />
      </>
    )}
    {state === "summary" && (
      <path d="M1.5 3.5h9M1.5 6h9M1.5 8.5h6" stroke="currentColor" stroke-width="1.5" />
    )}
    {state === "note" && <path d="m6 1.8 4.2 4.2L6 10.2 1.8 6z" fill="currentColor" />}
    {state === "retired" && (
      <circle
        cx="6"
        cy="6"
        r="4.2"
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-dasharray="2 1.6"
      />
    )}
  </svg>
);

const percent = (share: number): string => `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;

/** Tokens as a bar: filled where sent, an outline where the original was longer. */
const TokenBar = ({ row, most }: { readonly row: ContextRow; readonly most: number }) => (
  <span class="token-bar" aria-hidden="true">
    <span class={`outline ${row.state}`} style={{ width: percent(row.original / most) }}>
      {row.tokens > 0 && (
        <span style={{ width: percent(row.tokens / Math.max(row.original, row.tokens, 1)) }} />
      )}
    </span>
  </span>
);

const TokenNumber = ({ row }: { readonly row: ContextRow }) => {
  if (row.state === "retired")
    return (
      <span class="token-number">
        <s>{formatCount(row.original)}</s>
        <span class="meta">not sent</span>
      </span>
    );
  return (
    <span class="token-number">
      {formatCount(row.tokens)}
      {row.original > row.tokens && <span class="meta">of {formatCount(row.original)}</span>}
    </span>
  );
};

interface WireMessage {
  readonly id: string;
  readonly parts: readonly {
    readonly type: string;
    readonly text?: string;
    readonly content?: readonly { readonly text?: string }[];
  }[];
}

const partText = ({ text, content }: WireMessage["parts"][number]): string =>
  text ?? content?.map((each) => each.text ?? "").join("\n") ?? "";

/** Loads the originals of what a row stands for. */
const useOriginals = (row: ContextRow, thread: string, wanted: boolean): string | null => {
  const { api } = useApp();
  const { id } = useSession();
  const last = row.places.at(-1);
  const loaded = useLoad(`${id} ${row.id} ${String(wanted)}`, async (signal) => {
    if (!wanted || last === undefined) return null;
    const limit = Math.min(200, row.places.length);
    const query = `thread=${thread}&retired=true&before=${last + 1}&limit=${limit}`;
    const { data } = await api.read<{ readonly data: readonly WireMessage[] }>(
      `/sessions/${id}/messages?${query}`,
      { signal },
    );
    const shown = data.filter((message) => row.messages.includes(message.id));
    return shown.map(({ parts }) => parts.map(partText).join("\n")).join("\n\n");
  });
  return loaded.value;
};

const whyWords = ({ state, reason, by }: ContextRow): string => {
  const who = by ?? "the runtime";
  const because = reason === null ? "" : ` (${escapeInLine(reason)})`;
  switch (state) {
    case "overlaid":
      return `The model got a shorter text from ${who}${because}. The whole of it stays in the session.`;
    case "retired":
      return `These were not sent any more${because}. They stay in the session.`;
    case "summary":
      return `${who} wrote this in their place${because}.`;
    case "note":
      return `${who} told the model this${because}.`;
    case "full":
      return "It was sent as it is.";
  }
};

/** Takes the marks of the view off a text, so that it compares with the original. */
const bareText = (text: string): string => text.replace(/^\[\w+\] /, "");

const Opened = ({ row, view }: { readonly row: ContextRow; readonly view: ContextView }) => {
  const { api, report, go } = useApp();
  const { id } = useSession();
  const [pinned, setPinned] = useState(false);
  const needsOriginal = row.state === "overlaid" || row.state === "retired";
  const original = useOriginals(row, view.thread, needsOriginal);
  const diff = useMemo(
    () => (row.state === "overlaid" && original !== null ? diffTexts(original, bareText(row.text)) : null),
    [original, row.text],
  );
  const text = row.state === "retired" ? (original ?? "") : row.text;
  const [message] = row.messages;
  const pin = (): void =>
    report(
      api
        .request(`/sessions/${id}/messages/${message}`, { method: "PATCH", body: { pinned: true } })
        .then(() => setPinned(true)),
    );
  return (
    <div class="context-opened">
      <p class="quiet-text">{whyWords(row)}</p>
      {diff === null ? (
        <pre class="sheet framed" tabIndex={0}>
          {escapeInLines(text)}
        </pre>
      ) : (
        <div class="framed">
          <p class="diff-gap">
            Original, {countOf(countLines(original ?? ""), "line")} → as sent,{" "}
            {countOf(countLines(bareText(row.text)), "line")}
          </p>
          <DiffView diff={diff} bare label="Original and what was sent" />
        </div>
      )}
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
    </div>
  );
};

interface RowProps {
  readonly row: ContextRow;
  readonly view: ContextView;
  readonly most: number;
  readonly open: boolean;
  readonly onToggle: () => void;
}

const signNames = { "+": "new", "~": "changed", "−": "gone", "": "" } as const;
const signTones = { "+": "good", "~": "", "−": "bad", "": "" } as const;

const Row = ({ row, view, most, open, onToggle }: RowProps) => (
  <li class={`context-row ${row.state} ${open ? "open" : ""}`}>
    <button type="button" aria-expanded={open} onClick={onToggle}>
      <span class={`sign ${signTones[row.sign]}`}>
        <span aria-hidden="true">{row.sign}</span>
        <span class="hidden">{signNames[row.sign]}</span>
      </span>
      <span class="context-message">
        <span class="cut">
          <span class={row.isCode ? "mono" : "context-name"}>{escapeInLine(row.name)}</span>{" "}
          <span class="meta">{row.role}</span>
        </span>
        <span class="quiet-text cut">{escapeInLine(row.beginning)}</span>
      </span>
      <span class="context-state">
        <StateSign state={row.state} />
        <span>
          {stateWords[row.state]}
          {row.stands > 0 && ` of ${row.stands}`}
          {row.by !== null && <span class="mono meta">{row.by}</span>}
        </span>
      </span>
      <TokenBar row={row} most={most} />
      <TokenNumber row={row} />
    </button>
    {open && <Opened row={row} view={view} />}
  </li>
);

interface FoldProps {
  readonly rows: readonly ContextRow[];
  readonly onOpen: () => void;
}

const Fold = ({ rows, onOpen }: FoldProps) => (
  <li class="context-row fold">
    <button type="button" aria-expanded={false} onClick={onOpen}>
      <Icon name="chevron" class="chevron" />
      <span class="quiet-text cut">
        {rows.length} unchanged: {rows.map(({ name }) => escapeInLine(name)).join(", ")}
      </span>
      <span class="context-state">
        <StateSign state="full" />
        <span>full</span>
      </span>
      <span class="token-bar" />
      <span class="token-number">{formatCount(rows.reduce((sum, { tokens }) => sum + tokens, 0))}</span>
    </button>
  </li>
);

interface RowsProps {
  readonly view: ContextView;
  readonly rows: readonly ContextRow[];
  /** Unchanged rows fold only where changes are looked for. */
  readonly folds: boolean;
  readonly chosen: string | null;
  readonly onChoose: (id: string | null) => void;
}

export const Rows = ({ view, rows, folds, chosen, onChoose }: RowsProps) => {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const most = Math.max(1, ...rows.map(({ tokens, original }) => Math.max(tokens, original)));
  const shown = folds ? foldRows(rows, opened) : rows.map((row) => ({ kind: "row" as const, row }));
  return (
    <ul class="context-rows">
      {shown.map((each) =>
        each.kind === "fold" ? (
          <Fold
            key={`fold-${each.rows[0]?.id}`}
            rows={each.rows}
            onOpen={() => setOpened(new Set([...opened, each.rows[0]?.id ?? ""]))}
          />
        ) : (
          <Row
            key={each.row.id}
            row={each.row}
            view={view}
            most={most}
            open={each.row.id === chosen}
            onToggle={() => onChoose(each.row.id === chosen ? null : each.row.id)}
          />
        ),
      )}
    </ul>
  );
};
