import "../styles/asks.css";
import "../styles/run.css";
import "../styles/context.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Transcript, TurnFacts } from "../../client/transcript.ts";
import { Loading, Tabs } from "../parts/controls.tsx";
import { escapeInLine, escapeJson } from "../parts/escape.ts";
import { useStore } from "../parts/hooks.ts";
import { useLoad } from "../parts/load.ts";
import { Icon } from "../parts/icons.tsx";
import { parseJson } from "../parts/json.ts";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { orNull } from "../state/missing.ts";
import type { ContextPlace } from "../state/route.ts";
import { findSteps } from "./calls.ts";
import type { Steps } from "./calls.ts";
import { Changes } from "./changes.tsx";
import { useOriginalTexts } from "./opened.tsx";
import { Rows } from "./rows.tsx";
import { countMessages, isChanged, isLeftOut, isSent, rowsOf } from "./row-list.ts";
import { describeView } from "./sentences.ts";
import type { ContextRow, ContextView } from "./view.ts";

/** What the model saw in a turn: it takes the place of the conversation. */

type RowFilter = "changed" | "all" | "sent" | "left";

const filters: readonly {
  readonly id: RowFilter;
  readonly label: string;
  readonly keeps: (row: ContextRow) => boolean;
}[] = [
  { id: "changed", label: "Changed", keeps: isChanged },
  { id: "all", label: "All", keeps: () => true },
  { id: "sent", label: "Sent", keeps: isSent },
  { id: "left", label: "Left out", keeps: isLeftOut },
];

const factsOf = ({ runs }: Transcript, { run, turn }: ContextPlace): TurnFacts | undefined =>
  runs.find(({ id }) => id === run)?.timeline.find((facts) => facts.turn === turn);

interface StepProps {
  readonly label: string;
  readonly icon: "back" | "chevron";
  readonly keyName: string;
  readonly place: ContextPlace | null;
  readonly disabled?: boolean;
}

/** Leads to another turn, or without one back to the conversation. */
const Step = ({ label, icon, keyName, place, disabled = false }: StepProps) => {
  const { go, route } = useApp();
  return (
    <button
      type="button"
      class="icon"
      data-key={keyName}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={() => go({ ...route.get(), context: place })}
    >
      <Icon name={icon} />
    </button>
  );
};

type Mode = "rows" | "sent";

interface HeadProps {
  readonly title: string;
  readonly steps: Steps;
  readonly mode: Mode;
  readonly onMode: (mode: Mode) => void;
}

const Head = ({ title, steps, mode, onMode }: HeadProps) => (
  <header class="head context-head">
    <Step label="Back to the conversation" icon="back" keyName="back" place={null} />
    <div class="head-words">
      <h1>What the model saw</h1>
      <p class="quiet-text cut">{title}</p>
    </div>
    <div class="stepper">
      <Step
        label="The turn before"
        icon="back"
        keyName="["
        place={steps.before}
        disabled={steps.before === null}
      />
      <span aria-live="polite">
        <strong>{steps.words}</strong>
        <span class="quiet-text">{steps.more}</span>
      </span>
      <Step
        label="The turn after"
        icon="chevron"
        keyName="]"
        place={steps.after}
        disabled={steps.after === null}
      />
    </div>
    <Tabs
      label="How the request is shown"
      controls="context-body"
      chosen={mode}
      onChoose={onMode}
      tabs={[
        { id: "rows", label: "As rows" },
        { id: "sent", label: "As sent" },
      ]}
    />
  </header>
);

const AsSent = ({ address }: { readonly address: string }) => {
  const { api } = useApp();
  const joined = `${address}${address.includes("?") ? "&" : "?"}format=provider`;
  const { state, value, problem } = useLoad(joined, async (signal) =>
    (await api.request(joined, { signal })).text(),
  );
  if (problem !== null) return <p class="empty bad">{problem}</p>;
  if (state === "loading") return <Loading />;
  return (
    <pre class="sheet wire" tabIndex={0} aria-label="The body of the request">
      {value === null ? "" : escapeJson(parseJson(value))}
    </pre>
  );
};

const Search = ({ onSearch }: { readonly onSearch: (text: string) => void }) => (
  <label class="search">
    <Icon name="search" />
    <input
      class="field"
      type="search"
      placeholder="Find in this request"
      aria-label="Find in this request"
      onInput={({ currentTarget }) => onSearch(currentTarget.value)}
    />
  </label>
);

/** Says that a filter shows nothing, and whether what is looked for stands elsewhere. */
const describeNothing = (found: readonly ContextRow[]): string =>
  found.length === 0 ? "Nothing here." : `Nothing here; All has ${countMessages(found)}.`;

interface BodyProps {
  readonly view: ContextView;
  /** The share of the window where effects make the context smaller; null if nobody knows. */
  readonly shrinksAt: number | null;
}

const Body = ({ view, shrinksAt }: BodyProps) => {
  const [filter, setFilter] = useState<RowFilter>("changed");
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const rows = useMemo(() => rowsOf(view, shrinksAt), [view, shrinksAt]);
  const wanted = search.trim().toLowerCase();
  const keeps = filters.find(({ id }) => id === filter)?.keeps ?? (() => true);
  const originals = useOriginalTexts(rows, view.thread, wanted !== "");
  const found = (row: ContextRow): boolean =>
    wanted === "" ||
    [row.name, row.text, row.by, originals?.get(row.id)].join(" ").toLowerCase().includes(wanted);
  // Unchanged rows stay as one line beside the changes, so that these stand where they were sent.
  const folds = filter === "changed" && wanted === "";
  const shown = rows.filter((row) => found(row) && (folds || keeps(row)));
  return (
    <>
      <p class="context-sentence">
        {describeView(view).map(({ text, strong }, at) => (strong ? <strong key={at}>{text}</strong> : text))}
      </p>
      <div class="context-bar">
        <Tabs
          label="Which messages"
          controls="context-rows"
          chosen={filter}
          onChoose={setFilter}
          tabs={filters.map(({ id, label, keeps: counts }) => ({
            id,
            label: `${label} ${countMessages(rows.filter(counts))}`,
          }))}
        />
        <Search onSearch={setSearch} />
      </div>
      <div id="context-rows" role="tabpanel" aria-label="Messages">
        <div class="context-columns meta" aria-hidden="true">
          <span>Message</span>
          <span>How it was sent</span>
          <span>Tokens</span>
          <span>sent, of whole</span>
        </div>
        <Rows
          view={view}
          rows={shown}
          shrinksAt={shrinksAt}
          folds={folds}
          chosen={chosen}
          onChoose={setChosen}
        />
        {shown.length === 0 && <p class="empty meta">{describeNothing(rows.filter(found))}</p>}
      </div>
    </>
  );
};

/** Reads what the model saw. */
const useContextView = (address: string) => {
  const { api } = useApp();
  const { state, value, problem } = useLoad(address, (signal) =>
    orNull(api.read<ContextView>(address, { signal })),
  );
  return {
    state,
    view: value,
    problem: state === "ready" && value === null ? "This session has no such turn." : problem,
  };
};

/** Where the agent's effects begin; nobody knows it of a turn that another definition sent. */
const useThreshold = (view: ContextView | null): number | null => {
  const { team } = useApp();
  const agent = useStore(team)?.agents.find(({ name }) => name === view?.agent);
  return view === null || view.verified === false ? null : (agent?.shrinks_at ?? null);
};

export const ContextRegion = ({ place }: { readonly place: ContextPlace }) => {
  const { id } = useSession();
  const transcript = useTranscript(slowly);
  const [mode, setMode] = useState<Mode>("rows");
  const call = place.call === null ? "" : `?call=${place.call}`;
  const address = `/sessions/${id}/runs/${place.run}/turns/${place.turn}/context${call}`;
  const { state, view, problem } = useContextView(address);
  const threshold = useThreshold(view);
  useEffect(() => document.getElementById("context-body")?.scrollTo({ top: 0 }), [address]);
  return (
    <main class="context" id="conversation">
      <Head
        title={`${escapeInLine(transcript.session?.title ?? "Untitled")} · ${place.run.replace(/^run_/, "run ")}`}
        steps={findSteps(transcript.runs, place, view)}
        mode={mode}
        onMode={setMode}
      />
      <div class="context-main" id="context-body" role="tabpanel" aria-label="The request" tabIndex={0}>
        {problem !== null && <p class="empty bad">{problem}</p>}
        {state === "loading" && mode === "rows" && <Loading />}
        {view !== null && mode === "rows" && <Body view={view} shrinksAt={threshold} />}
        {mode === "sent" && <AsSent address={address} />}
      </div>
      <section class="context-side" aria-label="What changed" tabIndex={0}>
        {view !== null && <Changes view={view} facts={factsOf(transcript, place)} threshold={threshold} />}
      </section>
    </main>
  );
};
