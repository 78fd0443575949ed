import { useState } from "preact/hooks";
import { escapeInLine } from "../parts/escape.ts";
import { formatCount, formatPercent } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { signTones } from "./view.ts";
import type { ContextRow, ContextView, RowState } from "./view.ts";
import { Opened } from "./opened.tsx";
import { describeReason } from "./reasons.ts";
import { describeFold, foldRows, nameState } from "./row-list.ts";

/** The messages of a model call, one row each. */

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

/** Tokens as a bar: filled where sent, an outline where the original was longer. */
const TokenBar = ({ row, most }: { readonly row: ContextRow; readonly most: number }) => (
  <span class="token-bar" aria-hidden="true">
    <span class={`outline ${row.state}`} style={{ width: formatPercent(row.original / most) }}>
      {row.tokens > 0 && (
        <span style={{ width: formatPercent(row.tokens / Math.max(row.original, row.tokens, 1)) }} />
      )}
    </span>
  </span>
);

const Unsent = ({ tokens }: { readonly tokens: number }) => (
  <span class="token-number">
    <s>{formatCount(tokens)}</s>
    <span class="meta">not sent</span>
  </span>
);

/** Says why in words, or else by which effect. */
const Cause = ({ row, shrinksAt }: Pick<RowProps, "row" | "shrinksAt">) => {
  const why = describeReason(row, shrinksAt);
  if (row.by === null) return null;
  return (
    <span
      class={why === null ? "mono meta" : "meta"}
      style={{ display: "block", whiteSpace: "normal" }}
      title={escapeInLine(row.by)}
    >
      {why === null ? `(${escapeInLine(row.by)})` : why}
    </span>
  );
};

const TokenNumber = ({ row }: { readonly row: ContextRow }) => {
  if (row.state === "retired") return <Unsent tokens={row.original} />;
  return (
    <span class="token-number">
      {formatCount(row.tokens)}
      {row.original > row.tokens && <span class="meta">of {formatCount(row.original)}</span>}
    </span>
  );
};

interface RowProps {
  readonly row: ContextRow;
  readonly view: ContextView;
  readonly most: number;
  readonly shrinksAt: number | null;
  readonly open: boolean;
  readonly onToggle: () => void;
}

const signNames = { "+": "new", "~": "changed", "−": "gone", "": "" } as const;

const Row = ({ row, view, most, shrinksAt, open, onToggle }: RowProps) => (
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
          {nameState(row)}
          {row.stands > 0 && ` of ${row.stands}`}
          <Cause row={row} shrinksAt={shrinksAt} />
        </span>
      </span>
      <TokenBar row={row} most={most} />
      <TokenNumber row={row} />
    </button>
    {open && <Opened row={row} view={view} shrinksAt={shrinksAt} />}
  </li>
);

interface FoldProps {
  readonly rows: readonly ContextRow[];
  readonly onOpen: () => void;
}

const Fold = ({ rows, onOpen }: FoldProps) => {
  const { words, state, tokens, isSent } = describeFold(rows);
  return (
    <li class="context-row fold">
      <button type="button" aria-expanded={false} onClick={onOpen}>
        <Icon name="chevron" class="chevron" />
        <span class="quiet-text cut">{escapeInLine(words)}</span>
        <span class="context-state">
          <StateSign state={isSent ? "full" : "retired"} />
          <span>{state}</span>
        </span>
        <span class="token-bar" />
        {isSent ? <span class="token-number">{formatCount(tokens)}</span> : <Unsent tokens={tokens} />}
      </button>
    </li>
  );
};

interface RowsProps {
  readonly view: ContextView;
  readonly rows: readonly ContextRow[];
  readonly shrinksAt: number | null;
  /** Unchanged rows fold only where changes are looked for. */
  readonly folds: boolean;
  readonly chosen: string | null;
  readonly onChoose: (id: string | null) => void;
}

export const Rows = ({ view, rows, shrinksAt, folds, chosen, onChoose }: RowsProps) => {
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
            shrinksAt={shrinksAt}
            open={each.row.id === chosen}
            onToggle={() => onChoose(each.row.id === chosen ? null : each.row.id)}
          />
        ),
      )}
    </ul>
  );
};
