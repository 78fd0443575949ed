import { useState } from "preact/hooks";
import type { CallEntry, TranscriptAsk } from "../../client/transcript.ts";
import { AskCard, UnusedEdit } from "../asks/index.ts";
import { describeClosed, isSaidByAnswer } from "../asks/closed.ts";
import { readEdit } from "../asks/edits.ts";
import { describeResult, isRemembered } from "../calls/outcomes.ts";
import { describeCall, hasFailed } from "../calls/verbs.ts";
import { DiffCount, DiffView } from "../parts/diff-view.tsx";
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

/** An answered call says who allowed it; what a question came to says more than that it was asked. */
const ClosedWords = ({ call }: { readonly call: CallEntry }) => {
  const { keyName } = useSession();
  if (call.ask === null) return null;
  const { who, said } = describeClosed(call.ask, keyName, call.output);
  const { verb, subject, isProse } = describeCall(call);
  const isQuestion = call.ask.kind === "question";
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
      {isQuestion && <span class="verb"> · {escapeInLine(call.ask.question?.text ?? "")}</span>}
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
  const closedAt = call.ask?.status === "open" ? null : (call.ask?.closed_at ?? null);
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
const AnsweredLine = ({ call, ask, ...rest }: CallLineProps & { readonly ask: TranscriptAsk }) => {
  const { keyName } = useSession();
  const { icon, good } = describeClosed(ask, keyName, call.output);
  const result = isSaidByAnswer(ask) ? "" : <Result call={call} />;
  return (
    <Line {...rest} icon={icon} tone={good ? "good" : ""} result={result} time={<CallTime call={call} />}>
      <ClosedWords call={call} />
    </Line>
  );
};

const CallLine = ({ call, ...rest }: CallLineProps) =>
  call.ask === null ? (
    <Line
      {...rest}
      icon={describeCall(call).icon}
      result={<Result call={call} />}
      time={<CallTime call={call} />}
    >
      <Words call={call} />
    </Line>
  ) : (
    <AnsweredLine call={call} ask={call.ask} {...rest} />
  );

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

/** A call as it stands now: an open ask, called agents, or a line. */
export const Call = memo<CallProps>(({ call, agent, level, newest, show }) => {
  if (call.ask?.status === "open")
    return (
      <div class="entry asking" data-entry={call.id}>
        <AskCard ask={call.ask} agent={agent} />
      </div>
    );
  return (
    <>
      {call.children.length > 0 ? (
        <Children call={call} agent={agent} level={level} show={show} />
      ) : (
        <PlainCall call={call} newest={newest} />
      )}
      {call.ask !== null && readEdit(call.ask.id) !== null && <UnusedEdit ask={call.ask} />}
    </>
  );
});
