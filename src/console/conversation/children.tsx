import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CallEntry, TranscriptThread } from "../../client/transcript.ts";
import { escapeInLine, escapeInLines } from "../parts/escape.ts";
import { countOf, formatDuration, formatUsd } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { threadCost } from "../run/figures.ts";
import { slowly, useApp, useRunClock, useSession, useThread, useTranscript } from "../state/app.ts";
import { readGraph } from "../calls/graph.ts";
import { Line } from "./line.tsx";
import { stateWords } from "./sentences.ts";

/** Called agents below the call that called them, each with its own lines. */

/** So many levels stand below each other; a deeper one has a page of its own. */
const mostLevels = 3;

const isOver = ({ state }: TranscriptThread): boolean =>
  state === "completed" || state === "failed" || state === "cancelled";

const Took = ({ thread }: { readonly thread: TranscriptThread }) => {
  const over = isOver(thread);
  const now = useRunClock(!over);
  if (thread.started_at === null) return null;
  return <>{formatDuration((over ? (thread.ended_at ?? thread.started_at) : now) - thread.started_at)}</>;
};

const firstLine = (text: string): string => /^[^\n]*/.exec(text)?.[0] ?? "";

/** Shows the entries of a called thread, which may have called others. */
export type ShowEntries = (thread: TranscriptThread, level: number) => ComponentChildren;

interface ChildProps {
  readonly id: string;
  /** What its task is called in a graph. */
  readonly name: string | undefined;
  readonly caller: string;
  readonly level: number;
  readonly show: ShowEntries;
}

const CameBack = ({ summary, caller }: { readonly summary: string | undefined; readonly caller: string }) => (
  <p class="came-back">
    <Icon name="reply" />
    <span>
      {summary === undefined || summary === ""
        ? `Came back to ${caller} without a word.`
        : `Came back to ${caller} as: “${escapeInLines(summary)}”`}
    </span>
  </p>
);

interface ToldProps {
  readonly thread: TranscriptThread;
  readonly caller: string;
  readonly children: ComponentChildren;
}

/** What a called agent was told, did, and gave back. */
export const Told = ({ thread, caller, children }: ToldProps) => (
  <>
    {thread.task !== undefined && <p class="task">Task: {escapeInLines(thread.task)}</p>}
    {children}
    {isOver(thread) && <CameBack summary={thread.summary} caller={caller} />}
  </>
);

const Cost = ({ thread }: { readonly thread: string }) => (
  <>{formatUsd(threadCost(useTranscript(slowly), thread))}</>
);

interface ChildLineProps {
  readonly thread: TranscriptThread;
  readonly name: string | undefined;
  /** Null where it leads to a page. */
  readonly open: boolean | null;
  readonly onClick: () => void;
}

const ChildWords = ({
  agent,
  name,
  task,
}: {
  readonly agent: string;
  readonly name: string | undefined;
  readonly task: string;
}) => (
  <span class="line-words">
    <strong>{agent}</strong> {name !== undefined && <span class="mono">{name}</span>}{" "}
    <span class="verb">{escapeInLine(firstLine(task))}</span>
  </span>
);

const ChildLine = ({ thread, name, open, onClick }: ChildLineProps) => (
  <button
    type="button"
    class="line child-line"
    data-line
    aria-expanded={open ?? undefined}
    tabIndex={-1}
    onClick={onClick}
  >
    <span class="prefix" aria-hidden="true">
      {thread.prefix}
    </span>
    <ChildWords agent={thread.agent} name={name} task={thread.task ?? ""} />
    <span class={`line-result ${thread.state === "failed" ? "bad" : ""}`}>
      {!isOver(thread) && <span class="ring" />} {stateWords[thread.state]} · <Cost thread={thread.id} />
    </span>
    <span class="line-time">
      <Took thread={thread} />
    </span>
    <Icon name="chevron" class="chevron" />
  </button>
);

const Child = ({ id, name, caller, level, show }: ChildProps) => {
  const thread = useThread(id);
  const { go, route } = useApp();
  const [toggled, setToggled] = useState<boolean | null>(null);
  if (thread === null) return null;
  if (level >= mostLevels)
    return (
      <div class="child" data-thread={id}>
        <ChildLine
          thread={thread}
          name={name}
          open={null}
          onClick={() => go({ session: route.get().session, context: null, thread: id })}
        />
      </div>
    );
  const over = isOver(thread);
  const open = toggled ?? !over;
  return (
    <div class="child" data-thread={id}>
      <ChildLine thread={thread} name={name} open={open} onClick={() => setToggled(!open)} />
      {open && (
        <div class="child-body">
          <Told thread={thread} caller={caller}>
            {show(thread, level + 1)}
          </Told>
        </div>
      )}
    </div>
  );
};

const headWords = (count: number, tasks: number): string => {
  const agents = `Called ${countOf(count, "agent")}`;
  return tasks > 0 ? `${agents} for ${countOf(tasks, "task")}` : `${agents}${count > 1 ? " at once" : ""}`;
};

interface ChildrenProps {
  readonly call: CallEntry;
  readonly agent: string;
  readonly level: number;
  readonly show: ShowEntries;
}

/** The agents that a call called; several at once share one head. */
export const Children = ({ call, agent, level, show }: ChildrenProps) => {
  const transcript = useTranscript(slowly);
  const { threads } = transcript;
  const { size, names, rest } = readGraph(call, useSession().open.getEvents());
  const [open, setOpen] = useState(true);
  const called = threads.filter(({ id }) => call.children.includes(id));
  const done = called.filter(isOver).length;
  const cost = called
    .map(({ id }) => threadCost(transcript, id))
    .reduce((sum, each) => (sum === null || each === null ? null : sum + each), 0);
  const now = useRunClock(call.state !== "done");
  const { done: ready, total } = call.progress ?? { done, total: called.length };
  const progress = call.state !== "done" && total > 1 ? `${ready} of ${total} done · ` : "";
  return (
    <div class="entry tool called" data-entry={call.id}>
      <Line
        icon="branch"
        open={open}
        onToggle={() => setOpen(!open)}
        result={`${progress}${formatUsd(cost)}`}
        time={formatDuration(call.duration_ms ?? now - (call.started_at ?? call.at))}
      >
        {headWords(called.length, size)}
      </Line>
      {open && (
        <div class="rail">
          {call.children.map((id) => (
            <Child key={id} id={id} name={names.get(id)} caller={agent} level={level} show={show} />
          ))}
          {rest.map(({ id, agent: name, message, state }) => (
            <p key={id} class="line child-line">
              <span class="prefix" />
              <ChildWords agent={name} name={id} task={message} />
              <span class="line-result">{state}</span>
              <span class="line-time" />
              <Icon name="chevron" class="chevron" />
            </p>
          ))}
        </div>
      )}
    </div>
  );
};
