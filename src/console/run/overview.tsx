import { useLayoutEffect, useRef } from "preact/hooks";
import type { Json } from "../../chat/message.ts";
import type { Transcript, TranscriptRun } from "../../client/transcript.ts";
import {
  findLeastUsd,
  formatCount,
  formatDuration,
  formatPercent,
  formatShare,
  formatTokens,
  formatUsd,
} from "../parts/format.ts";
import { memo, useStore } from "../parts/hooks.ts";
import { useLoad } from "../parts/load.ts";
import { Icon } from "../parts/icons.tsx";
import { useApp, useRunClock, useSession } from "../state/app.ts";
import { RunChoice, shownThread, useShownRun } from "./choice.tsx";
import { nothing, runsOf, sentTokens, sentTurns, turnSpent, turnsOf } from "./figures.ts";
import type { PlacedTurn, Spent } from "./figures.ts";
import { describeLimit, describeWarning, readLimits } from "./budget.ts";
import type { BudgetLimit, BudgetSituation } from "./budget.ts";
import { runSpent } from "./spent.ts";
import { labelTick, lanesOf, nameTurns, scaleOf, ticksOf } from "./timeline.ts";
import type { Lane, Scale, Segment } from "./timeline.ts";

/** What the run costs, how full its context is, and where its time went. */

const Figure = ({
  name,
  spent,
  leastCost,
}: {
  readonly name: string;
  readonly spent: Spent;
  /** Of all figures. */
  readonly leastCost: number;
}) => (
  <div class="figure">
    <dt>{name}</dt>
    <dd>
      <strong>{formatUsd(spent.cost, leastCost)}</strong>
      <span class="meta">{formatTokens(spent.tokens)} tokens</span>
    </dd>
  </div>
);

const Figures = ({
  transcript,
  last,
  run,
  isNewest,
}: {
  readonly transcript: Transcript;
  readonly last: PlacedTurn | undefined;
  readonly run: TranscriptRun | undefined;
  readonly isNewest: boolean;
}) => {
  const { usage } = transcript;
  const figures: readonly (readonly [string, Spent])[] = [
    [isNewest ? "This turn" : "Its last turn", last === undefined ? nothing : turnSpent(last.facts)],
    ["This run", run === undefined ? nothing : runSpent(transcript, run)],
    ["Session", { cost: usage.cost_usd, tokens: usage.total }],
  ];
  const leastCost = findLeastUsd(figures.map(([, { cost }]) => cost));
  return (
    <dl class="figures">
      {figures.map(([name, spent]) => (
        <Figure key={name} name={name} spent={spent} leastCost={leastCost} />
      ))}
    </dl>
  );
};

/** Reads what a session may use, again after each model call, decision or change: raises and shares of others are in it. */
const useBudget = ({ session, usage, asks }: Transcript): Json => {
  const { api } = useApp();
  const { id } = useSession();
  const state = [usage.calls, session?.active_run, asks.length, JSON.stringify(session?.budget)];
  const load = (signal: AbortSignal) => api.read<{ readonly budget: Json }>(`/sessions/${id}`, { signal });
  return useLoad(id, load, state.join(" ")).value?.budget ?? null;
};

interface LimitProps {
  readonly limit: BudgetLimit;
  readonly situation: BudgetSituation;
}

const Limit = ({ limit, situation }: LimitProps) => {
  const { words, hasBar } = describeLimit(limit, situation);
  if (!hasBar) return <p class="budget meta">{words}</p>;
  return (
    <div class="budget">
      <div
        class="track"
        role="meter"
        aria-label="Budget"
        aria-valuemin={0}
        aria-valuemax={limit.limit}
        aria-valuenow={Math.min(limit.spent, limit.limit)}
        aria-valuetext={words}
      >
        <span style={{ width: formatPercent(limit.spent / Math.max(limit.limit, 1e-9)) }} />
      </div>
      <p>
        <span>{words}</span>
        <span class="meta">{describeWarning(limit)}</span>
      </p>
    </div>
  );
};

const Budget = ({ transcript }: { readonly transcript: Transcript }) => {
  const limits = readLimits(useBudget(transcript));
  const newest = runsOf(transcript).at(-1);
  const situation = {
    isRunning: transcript.session?.active_run != null,
    unpriced: {
      run: newest !== undefined && runSpent(transcript, newest).cost === null,
      session: transcript.usage.cost_usd === null,
    },
  };
  return (
    <>
      {limits.map((limit) => (
        <Limit key={limit.kind} limit={limit} situation={situation} />
      ))}
    </>
  );
};

interface ContextBarsProps {
  readonly turns: readonly PlacedTurn[];
  readonly window: number | undefined;
  readonly threshold: number | null;
}

/** So many bars stand in a row that scrolls, the newest in sight. */
const mostBars = 200;

/** One bar for each turn; the drop after a compaction is the picture. */
const ContextBars = ({ turns, window, threshold }: ContextBarsProps) => {
  const { go, route } = useApp();
  const row = useRef<HTMLOListElement>(null);
  const shown = sentTurns(turns).slice(-mostBars);
  const last = shown.at(-1);
  useLayoutEffect(
    () => row.current?.scrollTo({ left: row.current.scrollWidth }),
    [last?.run.id, shown.length],
  );
  if (last === undefined || window === undefined) return null;
  const sizes = shown.map(({ facts }) => sentTokens(facts) ?? 0);
  const line = threshold === null ? null : threshold * window;
  const top = Math.max(...sizes, line ?? 0, 1);
  const now = sizes.at(-1) ?? 0;
  const nameOf = nameTurns(shown);
  const open = ({ run, facts }: PlacedTurn) =>
    go({ ...route.get(), context: { run: run.id, turn: facts.turn, call: null } });
  return (
    <section class="panel-section" aria-label="Context">
      <header>
        <h2>Context</h2>
        <span class="meta">
          {formatTokens(now)} of {formatTokens(window)} tokens · {formatShare(now / window)}
        </span>
      </header>
      <div class="bars" style={{ "--line": String(line === null ? 0 : 1 - line / top) }}>
        {line !== null && threshold !== null && (
          <p class="threshold meta">
            <span>made smaller at {formatShare(threshold)}</span>
          </p>
        )}
        <ol ref={row}>
          {shown.map((turn, at) => (
            <li key={`${turn.run.id}/${turn.facts.turn}`}>
              <button
                type="button"
                class={turn === last ? "current" : ""}
                title={nameOf(turn).long}
                aria-label={`${nameOf(turn).full}: ${formatCount(sizes[at] ?? 0)} tokens. What the model saw`}
                onClick={() => open(turn)}
              >
                <span class="bar" style={{ height: formatPercent((sizes[at] ?? 0) / top) }} />
                <span class="bar-number">{nameOf(turn).short}</span>
              </button>
            </li>
          ))}
        </ol>
      </div>
      <button type="button" class="see" data-key="v" onClick={() => open(last)}>
        <Icon name="eye" />
        See what the model saw in {nameOf(last).long.toLowerCase()}
        <Icon name="chevron" />
      </button>
    </section>
  );
};

const segmentWords: Readonly<Record<Segment["kind"], string>> = {
  model: "model",
  tool: "tool",
  failed: "failed",
  unfinished: "not finished",
  asks: "waits for you",
  smaller: "made smaller",
};

const laneWords = ({ segments }: Lane): string => {
  const sums = Map.groupBy(segments, ({ kind }) => kind);
  return [...sums]
    .map(
      ([kind, all]) =>
        `${segmentWords[kind]} ${formatDuration(all.reduce((sum, { from, to }) => sum + to - from, 0))}`,
    )
    .join(", ");
};

const LaneRow = ({
  lane,
  scale,
  leastCost,
  current,
  onOpen,
}: {
  readonly lane: Lane;
  readonly scale: Scale;
  /** The least that any lane has cost. */
  readonly leastCost: number;
  readonly current: boolean;
  /** Null where there is nothing to see. */
  readonly onOpen: (() => void) | null;
}) => {
  const content = (
    <>
      <span class="lane-turn">{lane.turn}</span>
      <span class={`lane-title cut ${lane.failed ? "bad" : ""}`}>{lane.title}</span>
      <span class="lane-track">
        {lane.segments.map(({ kind, from, to }, at) => (
          <span
            key={at}
            class={`segment ${kind}`}
            style={{
              left: formatPercent(scale.at(from)),
              width: formatPercent(scale.at(to) - scale.at(from)),
            }}
          />
        ))}
      </span>
      <span class="hidden">{laneWords(lane)}</span>
      <span class="lane-cost">{formatUsd(lane.spent.cost, leastCost)}</span>
    </>
  );
  const kind = `lane depth-${Math.min(lane.depth, 3)} ${current ? "current" : ""}`;
  return (
    <li>
      {onOpen === null ? (
        <div class={kind} title={lane.hint}>
          {content}
        </div>
      ) : (
        <button type="button" class={kind} title={lane.hint} onClick={onOpen}>
          {content}
        </button>
      )}
    </li>
  );
};

/** A turn leads to what the model saw in it, a called agent to its own lines; null leads nowhere. */
const useOpener = (run: TranscriptRun) => {
  const { go, panel, route } = useApp();
  const { id } = useSession();
  return ({ id: lane, turn, depth }: Lane): (() => void) | null => {
    if (turn !== null) return () => go({ ...route.get(), context: { run: run.id, turn, call: null } });
    if (depth === 0) return null;
    return () => {
      if (matchMedia("(max-width: 1179px)").matches) panel.set(false);
      go({ session: id, context: null, thread: lane });
    };
  };
};

/** Shows when the agents of a run worked; a run without an end is shown up to now. */
const Timeline = ({ transcript, run }: { readonly transcript: Transcript; readonly run: TranscriptRun }) => {
  const openerOf = useOpener(run);
  const now = useRunClock(run.ended_at === null);
  const end = run.ended_at ?? now;
  const lanes = lanesOf(transcript, run, end);
  const scale = scaleOf(lanes, run.started_at, end);
  const leastCost = findLeastUsd(lanes.map(({ spent }) => spent.cost));
  const kinds = new Set(lanes.flatMap(({ segments }) => segments.map(({ kind }) => kind)));
  const current = lanes.findLast(({ turn }) => turn !== null);
  if (lanes.length === 0) return null;
  return (
    <section class="panel-section" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <span class="meta">
          {run.ended_at === null && scale.waited < 1_000
            ? `${formatDuration(scale.work)}, still working`
            : `${formatDuration(scale.work)} of work${scale.waited < 1_000 ? "" : `, ${formatDuration(scale.waited)} of waiting`}`}
        </span>
      </header>
      <div class="axis meta" aria-hidden="true">
        {ticksOf(scale.work).map((tick) => (
          <span
            key={tick}
            style={{ left: formatPercent(tick / (scale.work * (1 + 0.06 * (scale.waited > 0 ? 1 : 0)))) }}
          >
            {labelTick(tick)}
          </span>
        ))}
      </div>
      <ol class="lanes">
        {lanes.map((lane) => (
          <LaneRow
            key={lane.id}
            lane={lane}
            scale={scale}
            leastCost={leastCost}
            current={lane === current}
            onOpen={openerOf(lane)}
          />
        ))}
      </ol>
      <ul class="legend meta">
        {(Object.keys(segmentWords) as Segment["kind"][])
          .filter((kind) => kinds.has(kind))
          .map((kind) => (
            <li key={kind}>
              <span class={`segment ${kind}`} />
              {segmentWords[kind]}
            </li>
          ))}
      </ul>
    </section>
  );
};

/** The thread that the panel tells of, whether another one called it, and its agent as the team has it. */
const useShownThread = (transcript: Transcript) => {
  const { route, team } = useApp();
  const shown = shownThread(transcript, useStore(route));
  const thread = transcript.threads.find(({ id }) => id === shown);
  const name = thread?.agent ?? transcript.session?.agent;
  const called = thread?.parent === undefined ? null : thread;
  return { id: shown, called, agent: useStore(team)?.agents.find((each) => each.name === name) };
};

/** The tab of the run. */
export const Overview = memo<{ readonly transcript: Transcript }>(({ transcript }) => {
  const { id, called, agent } = useShownThread(transcript);
  const runs = runsOf(transcript, id);
  const run = useShownRun(runs);
  const turns = turnsOf(transcript, id).filter((turn) => turn.run.started_at <= (run?.started_at ?? 0));
  return (
    <>
      {called !== null && (
        <p class="meta">
          Of {called.prefix} {called.agent}, a called agent.
        </p>
      )}
      {run !== undefined && runs.length > 1 && <RunChoice transcript={transcript} runs={runs} shown={run} />}
      <Figures
        transcript={transcript}
        last={turns.findLast((turn) => turn.run === run)}
        run={run}
        isNewest={run === runs.at(-1)}
      />
      {called === null && <Budget transcript={transcript} />}
      <ContextBars turns={turns} window={agent?.context_window} threshold={agent?.shrinks_at ?? null} />
      {run === undefined ? (
        <p class="empty meta">Nothing ran yet. Costs, context and time stand here.</p>
      ) : (
        <Timeline transcript={transcript} run={run} />
      )}
    </>
  );
});
