import { useState } from "preact/hooks";
import type { CallEntry, TranscriptAsk } from "../../client/transcript.ts";
import { AskCard, UnusedEdit } from "../asks/index.ts";
import { describeClosed, isSaidByAnswer } from "../asks/closed.ts";
import { readEdit } from "../asks/edits.ts";
import { DiffCount } from "../calls/diff-count.tsx";
import { describeResult, isRemembered } from "../calls/outcomes.ts";
import { describeCall, hasFailed } from "../calls/verbs.ts";
import { parseDiff } from "../parts/diff.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatDuration, formatTime } from "../parts/format.ts";
import { memo } from "../parts/hooks.ts";
import { lazy } from "../parts/lazy.tsx";
import { useRunClock, useSession } from "../state/app.ts";
import type { ShowEntries } from "./children.tsx";
import { Line } from "./line.tsx";

/** A tool call: one line that says what it did, open for input, output and diff. */

const Children = lazy(async () => (await import("./children.tsx")).Children);

const RunningTime = ({ since }: { readonly since: number | null }) => {
  const now = useRunClock();
  return (
    <>
      <span class="ring" /> {since === null ? "" : formatDuration(Math.max(1_000, now - since))}
    </>
  );
};

export const DiffView = lazy(async () => (await import("../parts/diff-view.tsx")).DiffView);

const Body = lazy(async () => (await import("./call-body.tsx")).CallBody);

const Changes = ({ call }: { readonly call: CallEntry }) => (
  <>
    {call.changes.map(({ path, diff }) =>
      diff === undefined ? null : (
        <DiffView key={path} diff={parseDiff(diff)} label={`Changes of ${escapeInLine(path)}`} />
      ),
    )}
  </>
);

const countChanges = ({ changes }: CallEntry) => {
  const diffs = changes.map(({ diff }) => parseDiff(diff ?? ""));
  return {
    added: diffs.reduce((sum, { added }) => sum + added, 0),
    removed: diffs.reduce((sum, { removed }) => sum + removed, 0),
    isCut: diffs.some(({ isCut }) => isCut),
  };
};

const Result = ({ call }: { readonly call: CallEntry }) => {
  if (call.state === "done" && showsDiff(call)) return <DiffCount {...countChanges(call)} />;
  return <span class={hasFailed(call) ? "bad" : ""}>{describeResult(call)}</span>;
};

const Words = ({ call }: { readonly call: CallEntry }) => {
  const { verb, isName, subject, isProse } = describeCall(call);
  return (
    <>
      <span class={isName ? "mono" : "verb"}>{verb}</span>{" "}
      <span class={isProse ? "" : "mono"}>
        {call.state === "preparing" ? escapeInLine(call.args.slice(-80)) : subject}
      </span>
      {isRemembered(call) && " · by a remembered permission"}
    </>
  );
};

/** What was denied or dropped says so by its answer. */
const isUnused = ({ outcome, started_at: from }: CallEntry): boolean =>
  outcome === "denied" || (outcome === "cancelled" && from === null);

interface AnsweredProps {
  readonly call: CallEntry;
  readonly ask: TranscriptAsk;
}

/** An answered call says who allowed it; what a question came to says more than that it was asked. */
const ClosedWords = ({ call, ask }: AnsweredProps) => {
  const { keyName } = useSession();
  const { who, said } = describeClosed(ask, keyName, call.output);
  const { verb, subject, isProse } = describeCall(call);
  const isQuestion = ask.kind === "question";
  return (
    <>
      <strong>{who}</strong>
      {!isQuestion && (
        <>
          {" · "}
          {isUnused(call) ? "" : `${verb} `}
          <span class={isProse ? "" : "mono"}>{subject}</span>
        </>
      )}
      {said !== "" && ` · ${said}`}
      {isQuestion && <span class="verb"> · {escapeInLine(ask.question?.text ?? "")}</span>}
    </>
  );
};

interface CallProps {
  readonly call: CallEntry;
  readonly agent: string;
  readonly level: number;
  readonly show: ShowEntries;
  /** The newest edit shows its diff by itself. */
  readonly newest: boolean;
}

const showsDiff = ({ outcome, changes }: CallEntry): boolean =>
  outcome === "ok" && changes.some(({ diff }) => diff !== undefined);

/** The time of an answer, how long the call took, or for how long it has been running; it may wait for others of its turn. */
const CallTime = ({ call }: { readonly call: CallEntry }) => {
  const closedAt = call.asks.at(-1)?.closed_at ?? null;
  if (closedAt !== null) return <>{formatTime(closedAt, Date.now())}</>;
  if (call.state === "planned") return <>waits</>;
  if (call.state !== "done") return <RunningTime since={call.started_at ?? call.at} />;
  return <>{call.duration_ms === null ? "" : formatDuration(call.duration_ms)}</>;
};

interface CallLineProps {
  readonly call: CallEntry;
  readonly open: boolean;
  readonly onToggle: () => void;
}

/** The line of a call that asked and was answered says who allowed it. */
const AnsweredLine = ({ call, ask, ...rest }: CallLineProps & AnsweredProps) => {
  const { keyName } = useSession();
  const { icon, good } = describeClosed(ask, keyName, call.output);
  const result = isSaidByAnswer(ask) ? "" : <Result call={call} />;
  return (
    <Line {...rest} icon={icon} tone={good ? "good" : ""} result={result} time={<CallTime call={call} />}>
      <ClosedWords call={call} ask={ask} />
    </Line>
  );
};

const CallLine = ({ call, ...rest }: CallLineProps) => {
  const ask = call.asks.at(-1);
  return ask === undefined ? (
    <Line
      {...rest}
      icon={describeCall(call).icon}
      result={<Result call={call} />}
      time={<CallTime call={call} />}
    >
      <Words call={call} />
    </Line>
  ) : (
    <AnsweredLine call={call} ask={ask} {...rest} />
  );
};

const PlainCall = ({ call, newest }: Pick<CallProps, "call" | "newest">) => {
  const [toggled, setToggled] = useState<boolean | null>(null);
  const isDiff = showsDiff(call);
  const open = toggled ?? ((newest && isDiff) || (call.state === "running" && call.live !== ""));
  return (
    <div class="entry tool" data-entry={call.id}>
      <CallLine call={call} open={open} onToggle={() => setToggled(!open)} />
      {open && isDiff && <Changes call={call} />}
      {open && (!isDiff || toggled === true) && <Body call={call} />}
    </div>
  );
};

/** What became of an ask after which its call asked again. */
const EarlierAsk = ({ call, ask }: AnsweredProps) => {
  const [open, setOpen] = useState(false);
  const then = { ...call, asks: [ask], output: null, outcome: null };
  return (
    <div class="entry tool">
      <AnsweredLine call={then} ask={ask} open={open} onToggle={() => setOpen(!open)} />
      {open && <Body call={then} />}
    </div>
  );
};

/** A call as it stands now: an open ask, called agents, or a line; what it asked before stands above. */
export const Call = memo<CallProps>(({ call, agent, level, newest, show }) => {
  const ask = call.asks.at(-1);
  return (
    <>
      {call.asks.slice(0, -1).map((each) => (
        <EarlierAsk key={each.id} call={call} ask={each} />
      ))}
      {ask?.status === "open" ? (
        <div class="entry asking" data-entry={call.id}>
          <AskCard ask={ask} agent={agent} />
        </div>
      ) : call.children.length > 0 ? (
        <Children call={call} agent={agent} level={level} show={show} />
      ) : (
        <PlainCall call={call} newest={newest} />
      )}
      {call.asks.map(
        (each) =>
          each.status !== "open" && readEdit(each.id) !== null && <UnusedEdit key={each.id} ask={each} />,
      )}
    </>
  );
});
