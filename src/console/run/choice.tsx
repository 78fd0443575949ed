import type { MessageEntry, OpenSession, Transcript, TranscriptRun } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatTime, formatUsd } from "../parts/format.ts";
import { useStore } from "../parts/hooks.ts";
import { createStore } from "../state/store.ts";
import type { Api } from "../state/api.ts";
import { useApp, useSession } from "../state/app.ts";
import { readEvents } from "../state/events.ts";
import type { PageAddress } from "../state/route.ts";
import { runSpent } from "./spent.ts";

/** Which run of a session the panel tells of: the newest of the shown thread, unless a person chose another one since it began. */

/** The thread whose run the panel shows: that of the turn that is looked at, or the one that has the page. */
export const shownThread = ({ runs }: Transcript, { context, thread = "main" }: PageAddress): string =>
  runs.find(({ id }) => id === context?.run)?.thread ?? thread;

interface Choice {
  readonly session: string;
  readonly run: string;
  /** The newest run at that time: the panel follows one that begins later. */
  readonly newest: string;
}

const choice = createStore<Choice | null>(null);

/** Returns the run that is shown, of those of a session; undefined if there is none. */
export const useShownRun = (runs: readonly TranscriptRun[]): TranscriptRun | undefined => {
  const { id } = useSession();
  const chosen = useStore(choice);
  const newest = runs.at(-1);
  if (chosen?.session !== id || chosen.newest !== newest?.id) return newest;
  return runs.find((run) => run.id === chosen.run) ?? newest;
};

/** Reads older events until the turns of a run are there from the first one on. */
const bringTurns = async (
  api: Api,
  session: string,
  { getSnapshot, loadEarlier }: OpenSession,
  id: string,
): Promise<void> => {
  const isMissing = (): boolean => {
    const run = getSnapshot().runs.find((each) => each.id === id);
    return run !== undefined && run.turns > 0 && (run.timeline[0]?.turn ?? 2) > 1;
  };
  if (!isMissing()) return;
  const starts = await readEvents(api, session, { types: "run_start" });
  const first = starts.find(({ run }) => run === id)?.seq;
  while (isMissing() && (await loadEarlier(first)));
};

/** A line with more characters than name a run; no pair of surrogates is split. */
const longName = /^(.{40}).+/su;

/** Finds what was said for a run, by the person or by its caller; undefined if the page does not hold it. */
const findSaid = ({ threads }: Transcript, { id, thread }: TranscriptRun): MessageEntry | undefined =>
  threads
    .find((each) => each.id === thread)
    ?.entries.find(
      (entry): entry is MessageEntry =>
        entry.kind === "message" &&
        entry.role === "user" &&
        (entry.origin === "human" || entry.origin === "agent") &&
        entry.run === id,
    );

/** Scrolls the conversation to where a run begins, once its rows are drawn. */
const scrollToRun = (transcript: Transcript, run: TranscriptRun): void => {
  const said = findSaid(transcript, run);
  if (said === undefined) return;
  requestAnimationFrame(() => {
    const row = document.querySelector(`[data-entry="${CSS.escape(said.id)}"]`);
    row?.scrollIntoView({ block: "start" });
    // The log learns at once that its end was left, and not in the next frame: it follows its end until then.
    row?.closest(".log")?.dispatchEvent(new Event("scroll"));
  });
};

/** Returns the beginning of what was said for a run; empty if the page does not hold it. */
const saidFor = (transcript: Transcript, run: TranscriptRun): string => {
  const parts = findSaid(transcript, run)?.parts ?? [];
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
  const line = text.trim().split("\n")[0] ?? "";
  return line.replace(longName, "$1…");
};

const endWords: Readonly<Record<string, string>> = { failed: "failed", cancelled: "stopped" };

/** Keeps the direction of a text from what stands around it. */
const isolate = (text: string): string => (text === "" ? "" : `\u2068${text}\u2069`);

/** Names a run by its number, what was said, how it ended if not well, its time, and what it cost. */
const nameRun = (transcript: Transcript, run: TranscriptRun, now: number): string =>
  [
    `Run ${run.id.replace(/^run_/, "")}`,
    isolate(escapeInLine(saidFor(transcript, run))),
    endWords[run.state] ?? "",
    formatTime(run.started_at, now),
    formatUsd(runSpent(transcript, run).cost),
  ]
    .filter((part) => part !== "")
    .join(" · ");

/** The choice that is no run: it brings those that the page does not hold yet. */
const older = "older";

interface RunChoiceProps {
  readonly transcript: Transcript;
  readonly runs: readonly TranscriptRun[];
  readonly shown: TranscriptRun;
}

/** The field that chooses among several runs, the newest first. */
export const RunChoice = ({ transcript, runs, shown }: RunChoiceProps) => {
  const { api, report } = useApp();
  const { id, open } = useSession();
  const choose = (wanted: string): void => {
    const run = runs.find((each) => each.id === wanted);
    if (run === undefined) return report(open.loadEarlier());
    choice.set({ session: id, run: run.id, newest: runs.at(-1)?.id ?? run.id });
    report(bringTurns(api, id, open, run.id).then(() => scrollToRun(open.getSnapshot(), run)));
  };
  return (
    <select
      class="field run-choice"
      aria-label="Which run"
      value={shown.id}
      onChange={({ currentTarget }) => {
        choose(currentTarget.value);
        currentTarget.value = shown.id;
      }}
    >
      {runs.toReversed().map((run) => (
        <option key={run.id} value={run.id}>
          {nameRun(transcript, run, Date.now())}
        </option>
      ))}
      {transcript.earlier && <option value={older}>Read older ones…</option>}
    </select>
  );
};
