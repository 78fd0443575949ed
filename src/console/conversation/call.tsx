import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CallEntry, TranscriptAsk } from "../../client/transcript.ts";
import { AskCard } from "../asks/index.ts";
import { describeClosed, isSaidByAnswer } from "../asks/closed.ts";
import { readEdit } from "../asks/edits.ts";
import { CopyButton } from "../parts/controls.tsx";
import { DiffCount, DiffView } from "../parts/diff-view.tsx";
import { parseDiff } from "../parts/diff.ts";
import { escapeInLine, escapeInLines, escapeJson } from "../parts/escape.ts";
import { countLines, countOf, formatDuration, formatTime } from "../parts/format.ts";
import { memo } from "../parts/hooks.ts";
import { lazy } from "../parts/lazy.tsx";
import { fieldsOf, outputText, textOf } from "../parts/json.ts";
import { useApp, useRunClock, useSession } from "../state/app.ts";
import type { ShowEntries } from "./children.tsx";
import { Line } from "./line.tsx";
import { describePermission, describeResult, isRemembered } from "../calls/outcomes.ts";
import { describeCall, hasFailed } from "../calls/verbs.ts";

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

const safetyWords: Readonly<Record<string, string>> = {
  read: "only reads",
  idempotent: "may change things, safe to repeat",
  reattach: "may change things",
  unsafe: "may change things",
};

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** So many lines of an output show before one asks for all. */
const tail = 12;

const Output = ({ call }: { readonly call: CallEntry }) => {
  const session = useSession();
  const { report } = useApp();
  const [all, setAll] = useState(false);
  const [json, setJson] = useState(false);
  const text = call.state === "done" ? outputText(call.output) : call.live;
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = all ? lines : lines.slice(-tail);
  const count = countLines(text);
  const showAll = (): void => {
    setAll(true);
    if (call.truncated) report(session.loadWhole(call));
  };
  return (
    <>
      {text !== "" && (
        <pre class="output" tabIndex={0} aria-label="Output">
          {shown.join("\n")}
          {call.state !== "done" && <span class="caret" />}
        </pre>
      )}
      {json && (
        <pre class="output" tabIndex={0} aria-label="Input">
          {escapeJson(call.input)}
        </pre>
      )}
      <div class="line-actions">
        {text !== "" && (count > tail || call.truncated) && !all && (
          <button type="button" class="plain" onClick={showAll}>
            {call.truncated ? "The whole output" : `All ${countOf(count, "line")}`}
          </button>
        )}
        {text !== "" && <CopyButton text={text} label="Copy output" words="Copy output" />}
        <button type="button" class="plain" aria-pressed={json} onClick={() => setJson(!json)}>
          Input as JSON
        </button>
      </div>
    </>
  );
};

const Body = ({ call }: { readonly call: CallEntry }) => {
  const { keyName } = useSession();
  const permission = describePermission(call, keyName);
  const question = call.ask?.question;
  const where = textOf(fieldsOf(call.input)["cwd"]);
  return (
    <div class="line-body">
      <dl class="facts-list">
        <Fact name="Tool">
          <span class="mono">{escapeInLine(call.tool)}</span>
          {call.safety === null ? "" : `, ${safetyWords[call.safety] ?? call.safety}`}
        </Fact>
        {question !== undefined && <Fact name="Question">{escapeInLines(question.text)}</Fact>}
        {question !== undefined && question.options.length > 0 && (
          <Fact name="Choices">{escapeInLine(question.options.join(" · "))}</Fact>
        )}
        {permission !== null && <Fact name={permission.verb}>{permission.by}</Fact>}
        {where !== null && (
          <Fact name="Where">
            <span class="mono">{escapeInLine(where)}</span>
          </Fact>
        )}
      </dl>
      <Output call={call} />
    </div>
  );
};

const Changes = ({ call }: { readonly call: CallEntry }) => (
  <>
    {call.changes.map(({ path, diff }) =>
      diff === undefined ? null : (
        <DiffView key={path} diff={parseDiff(diff)} label={`Changes of ${escapeInLine(path)}`} />
      ),
    )}
  </>
);

const changeCount = ({ changes }: CallEntry) =>
  changes.reduce(
    (sum, { diff }) => {
      const { added, removed } = parseDiff(diff ?? "");
      return { added: sum.added + added, removed: sum.removed + removed };
    },
    { added: 0, removed: 0 },
  );

const Result = ({ call }: { readonly call: CallEntry }) => {
  if (call.state === "done" && showsDiff(call)) return <DiffCount {...changeCount(call)} />;
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
      {readEdit(call.ask.id) !== null && " · your changes were not used"}
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
  if (call.children.length > 0) return <Children call={call} agent={agent} level={level} show={show} />;
  return <PlainCall call={call} newest={newest} />;
});
