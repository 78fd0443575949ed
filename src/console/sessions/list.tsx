import type { TargetedEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Loading, Menu, Tabs, moveFocus } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { formatAge, formatUsd, nameDays } from "../parts/format.ts";
import { memo, useNow, useStore } from "../parts/hooks.ts";
import { Icon, Mark } from "../parts/icons.tsx";
import { lazy } from "../parts/lazy.tsx";
import { slowly, useApp } from "../state/app.ts";
import { sessionsPerPage } from "../state/sessions.ts";
import type { SessionQuestion } from "./confirm.tsx";
import { readRows } from "./shown.ts";
import type { KnownRows } from "./shown.ts";
import { describeStatus, tellApart, titleOf } from "./status.ts";
import type { SessionRow, StatusFilter, StatusWords } from "./status.ts";

const Rename = lazy(async () => (await import("./rename.tsx")).Rename);
const SessionConfirm = lazy(async () => (await import("./confirm.tsx")).SessionConfirm);

/** The list of sessions: search, filters, rows by day, and what can be done with one. */

interface RowProps {
  readonly row: SessionRow;
  readonly words: StatusWords;
  readonly prefix: string;
  readonly current: boolean;
  readonly age: string;
  /** When it began, where another one has the same title. */
  readonly began: string;
  /** What the server has yet to do with it; empty if nothing. */
  readonly changing: string;
}

const Sign = ({ words }: { readonly words: StatusWords }) => {
  if (words.filter === "asks") return <span class="dot" />;
  return words.text === "Working" ? <span class="ring" /> : null;
};

/** What can be done with a session; both places that offer it ask once before they take something away. */
export const SessionMenu = ({
  row,
  name = "this session",
  onRename,
}: {
  readonly row: Pick<SessionRow, "id">;
  readonly name?: string;
  readonly onRename: () => void;
}) => {
  const app = useApp();
  const copies = () => import("../palette/copies.ts");
  const [question, setQuestion] = useState<SessionQuestion | null>(null);
  return (
    <>
      <Menu
        label={`What to do with ${name}`}
        items={[
          { label: "Rename", run: onRename },
          {
            label: "Fork",
            run: () => app.report(copies().then(({ forkSession }) => forkSession(app, row.id))),
          },
          {
            label: "Export events",
            run: () => app.report(copies().then(({ exportSession }) => exportSession(app, row.id))),
          },
          { label: "Permissions…", run: () => app.show("permissions") },
          { label: "Clear…", run: () => setQuestion("clear") },
          { label: "Delete…", bad: true, run: () => setQuestion("delete") },
        ]}
      />
      {question !== null && (
        <SessionConfirm id={row.id} question={question} onClose={() => setQuestion(null)} />
      )}
    </>
  );
};

const Row = memo<RowProps>(({ row, words, prefix, current, age, began, changing }) => {
  const { go } = useApp();
  const [renaming, setRenaming] = useState(false);
  const agent = `${prefix === "" ? "" : `${prefix} `}${row.agent}`;
  const ref = row.title === null || row.ref === null ? "" : ` · ${escapeInLine(row.ref)}`;
  return (
    <li class={`session ${current ? "current" : ""}`}>
      {renaming ? (
        <Rename row={row} onDone={() => setRenaming(false)} />
      ) : (
        <a
          href={`#${row.id}`}
          aria-current={current ? "page" : undefined}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            go({ session: row.id, context: null });
          }}
          onKeyDown={(event) => {
            if (event.key === "F2") setRenaming(true);
          }}
        >
          <span class="sign">
            <Sign words={words} />
          </span>
          <span class="title">
            <span class="cut">{titleOf(row)}</span>
            {began !== "" && <span class="meta">{began}</span>}
          </span>
          <span class={`state cut ${words.tone}`}>
            {words.tone === "plain" ? `${words.text} · ${agent}` : words.text}
            {ref}
          </span>
          <span class="meta facts">
            {age} · {formatUsd(row.usage.cost_usd)}
          </span>
          {changing !== "" && <span class="state late">{changing}</span>}
        </a>
      )}
      <SessionMenu row={row} name={`${titleOf(row)} ${began}`.trim()} onRename={() => setRenaming(true)} />
    </li>
  );
});

const filters: readonly { readonly id: StatusFilter; readonly label: string }[] = [
  { id: "all", label: "All" },
  { id: "asks", label: "Needs you" },
  { id: "working", label: "Working" },
  { id: "failed", label: "Failed" },
];

const isCounted = (filter: StatusFilter): boolean => filter === "asks";

const emptyWords: Readonly<Record<StatusFilter, string>> = {
  all: "No sessions yet. Your first message starts one.",
  asks: "Nothing waits for you.",
  working: "Nobody is working.",
  failed: "Nothing failed.",
};

const Search = () => {
  const { sessions } = useApp();
  const timer = useRef(0);
  const search = ({ currentTarget: { value } }: TargetedEvent<HTMLInputElement>): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => sessions.query.set(value), 120);
  };
  return (
    <label class="search">
      <Icon name="search" />
      <input
        id="search"
        class="field"
        type="search"
        placeholder="Search sessions"
        aria-label="Search sessions"
        title="Searches titles, refs and ids"
        maxLength={200}
        defaultValue={sessions.query.get()}
        onInput={search}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || event.currentTarget.value === "") return;
          event.preventDefault();
          event.currentTarget.value = "";
          search(event);
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
};

/** Moves between rows with the arrow keys. */
const pressInList = (event: KeyboardEvent): void => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (!(event.currentTarget instanceof HTMLElement) || !(event.target instanceof HTMLAnchorElement)) return;
  event.preventDefault();
  moveFocus([...event.currentTarget.querySelectorAll("a")], event.key === "ArrowDown" ? 1 : -1);
};

const useRows = (): KnownRows => {
  const { sessions, session } = useApp();
  const list = useStore(sessions.list);
  const control = useStore(session);
  const open = control?.open;
  const source = { get: open?.getSnapshot ?? nothingOpen, subscribe: open?.subscribe ?? noSubscription };
  const transcript = useStore(source, slowly);
  const isSearched = useStore(sessions.query) !== "";
  const isAtRest = transcript?.session?.active_run === null;
  useEffect(() => {
    if (isAtRest) sessions.refresh();
  }, [isAtRest]);
  return useMemo(() => readRows({ sessions, session }), [list, transcript, isSearched]);
};

const nothingOpen = () => null;
const noSubscription = () => () => undefined;

const groupRows = <T extends { readonly row: SessionRow }>(rows: readonly T[], now: number) =>
  [...Map.groupBy(rows, ({ row }) => nameDays(row.updated_at, now))].map(([days, shown]) => ({
    days,
    shown,
  }));

/** Says how old a list is that cannot be read again; one that was never read holds nothing to speak of. */
const describeOldList = (at: number, now: number): string => {
  if (at === 0) return "The list cannot be read just now.";
  const age = formatAge(at, now);
  return `As of ${age === "now" ? "a moment ago" : `${age} ago`}.`;
};

const Rows = ({ filter, rows, asks }: { readonly filter: StatusFilter } & KnownRows) => {
  const { sessions, route, team } = useApp();
  const { state, at, hasMore } = useStore(sessions.list);
  const { session: current } = useStore(route);
  const query = useStore(sessions.query);
  const changing = useStore(sessions.changing);
  const prefixes = useMemo(
    () => new Map(team.get()?.agents.map(({ name, prefix }) => [name, prefix])),
    [useStore(team)],
  );
  const now = useNow(10_000);
  const described = rows.map((row) => ({ row, words: describeStatus(row, asks.get(row.id)) }));
  const shown = described.filter(({ words }) => filter === "all" || words.filter === filter);
  if (state === "loading" && rows.length === 0) return <Loading />;
  const beganOf = tellApart(rows, now);
  const age = state === "failed" && <p class="empty meta">{describeOldList(at, now)}</p>;
  const more = hasMore && (
    <p class="empty meta">
      <button type="button" class="link" onClick={sessions.readMore}>
        Read {sessionsPerPage} older ones
      </button>
    </p>
  );
  if (shown.length === 0)
    return state === "failed" && at === 0 ? (
      age
    ) : (
      <>
        <p class="empty meta">
          {query === "" ? emptyWords[filter] : "No session has this in its title, ref or id."}
        </p>
        {more}
      </>
    );
  return (
    <>
      {age}
      {groupRows(shown, now).map(({ days, shown: group }) => (
        <section key={days} aria-label={days}>
          <h2 class="meta">{days}</h2>
          <ul>
            {group.map(({ row, words }) => (
              <Row
                key={row.id}
                row={row}
                words={words}
                prefix={prefixes.get(row.agent) ?? ""}
                current={row.id === current}
                age={formatAge(row.updated_at, now)}
                began={beganOf(row)}
                changing={changing.get(row.id) ?? ""}
              />
            ))}
          </ul>
        </section>
      ))}
      {more}
    </>
  );
};

/** Says whose sessions these are, and holds what concerns the whole page. */
const Foot = () => {
  const { team, key, show, sessions } = useApp();
  const name = useStore(team)?.name ?? "Limpet";
  const hasKey = useStore(key) !== "";
  // Whether it needs a key is known once it has answered without one.
  const isOpen = useStore(sessions.list).at > 0;
  return (
    <footer>
      <span class="meta cut">
        {hasKey ? `${name} · key in memory` : isOpen ? "This machine · open without a key" : name}
      </span>
      <Menu
        label="More"
        opens="up"
        items={[
          { label: "Permissions…", run: () => show("permissions") },
          { label: "Keys and shortcuts", run: () => show("keys") },
          ...(hasKey ? [{ label: "Forget the key…", run: () => show("forget") }] : []),
        ]}
      />
    </footer>
  );
};

/** The left region. */
export const SessionsRegion = () => {
  const { go, sessions } = useApp();
  const [filter, setFilter] = useState<StatusFilter>("all");
  const { rows, asks } = useRows();
  const hasFilters = useStore(sessions.query) !== "" || rows.length > 0 || filter !== "all";
  const waiting = rows.filter((row) => describeStatus(row, asks.get(row.id)).filter === "asks").length;
  return (
    <nav class="sessions" aria-label="Sessions">
      <header>
        <Mark />
        <strong>Limpet</strong>
        <button type="button" class="button" onClick={() => go({ session: null, context: null })}>
          <Icon name="plus" />
          New
        </button>
      </header>
      <Search />
      {hasFilters && (
        <Tabs
          label="Which sessions"
          class="filters"
          controls="session-list"
          chosen={filter}
          onChoose={setFilter}
          tabs={filters.map(({ id, label }) => ({
            id,
            label: isCounted(id) && waiting > 0 ? `${label} ${waiting}` : label,
          }))}
        />
      )}
      <div
        id="session-list"
        class="list"
        role={hasFilters ? "tabpanel" : "group"}
        aria-label="Sessions"
        onKeyDown={pressInList}
      >
        <Rows filter={filter} rows={rows} asks={asks} />
      </div>
      <Foot />
    </nav>
  );
};
