import { useEffect, useState } from "preact/hooks";
import type { Transcript, TranscriptThread } from "../../client/transcript.ts";
import { IconButton, Loading } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { formatDuration, formatShare, formatTime, formatUsd } from "../parts/format.ts";
import { useMedia, useNow, useStore } from "../parts/hooks.ts";
import { lazy } from "../parts/lazy.tsx";
import { contextShare, threadCost } from "../run/figures.ts";
import { SessionMenu } from "../sessions/list.tsx";
import { describeWait, titleOf } from "../sessions/status.ts";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { textOf } from "../state/session.ts";
import { Dock, openAskOf } from "./dock.tsx";
import { Entries } from "./entries.tsx";
import { Log } from "./log.tsx";
import { stateWords } from "./sentences.ts";

/** The middle region: the conversation of a session. */

const Rename = lazy(async () => (await import("../sessions/rename.tsx")).Rename);
const Told = lazy(async () => (await import("./children.tsx")).Told);

interface StateWords {
  readonly text: string;
  readonly mine: boolean;
}

const endWords: Readonly<Record<string, string>> = {
  completed: "done",
  failed: "failed",
  cancelled: "stopped",
};

/** What the run is at, or how the last one ended. */
const describeRun = ({ session, runs }: Transcript, now: number): string => {
  const main = runs.findLast(({ thread }) => thread === "main");
  if (session?.active_run == null) return endWords[main?.state ?? ""] ?? "new";
  if (session.status === "waiting") return describeWait(session.waiting_for, now);
  const took = main === undefined ? "" : `, ${formatDuration(Math.max(0, now - main.started_at))}`;
  return `working${took}`;
};

const describe = (transcript: Transcript, lostAt: number | null, now: number): StateWords => {
  const { status, session, asks } = transcript;
  if (status === "closed") return { text: "not connected", mine: false };
  if (lostAt !== null) {
    // Of a session that was never read nothing is known as of any time.
    const since = session === null ? "" : ` · as of ${formatTime(lostAt, now)}`;
    return { text: `reconnecting${since}`, mine: false };
  }
  if (session === null || status === "connecting") return { text: "connecting", mine: false };
  if (asks.some(({ kind }) => kind !== "client_tool")) return { text: "waiting for you", mine: true };
  return { text: describeRun(transcript, now), mine: false };
};

/** The way to the run where it is not beside the conversation. */
const RunButton = ({ transcript }: { readonly transcript: Transcript }) => {
  const { panel, team } = useApp();
  const agent = useStore(team)?.agents.find(({ name }) => name === transcript.session?.agent);
  const isOpen = useStore(panel);
  const isDrawer = useMedia("(max-width: 1179px)");
  const share = contextShare(transcript, agent?.context_window);
  if ((isOpen && !isDrawer) || transcript.session === null) return null;
  return (
    <button type="button" class="plain figures-button" title="The run" onClick={() => panel.set(true)}>
      <span>{share === null ? "The run" : `Context ${formatShare(share)}`}</span>
      <span class="quiet-text">Session {formatUsd(transcript.usage.cost_usd)}</span>
    </button>
  );
};

const StateLine = ({ transcript }: { readonly transcript: Transcript }) => {
  const isBusy = transcript.session?.active_run != null;
  const { lostAt } = useSession();
  const { text, mine } = describe(transcript, lostAt(), useNow(1_000, isBusy));
  const { session } = transcript;
  return (
    <p class="cut">
      {session !== null && (
        <span class="quiet-text">
          {session.prefix} {session.agent} ·{" "}
        </span>
      )}
      <span class={mine ? "mine" : "quiet-text"}>{text}</span>
    </p>
  );
};

const Head = ({ transcript }: { readonly transcript: Transcript }) => {
  const { go, sessions } = useApp();
  const { id } = useSession();
  const row = useStore(sessions.list).rows.find((each) => each.id === id);
  const [renaming, setRenaming] = useState(false);
  const isPhone = useMedia("(max-width: 759px)");
  // The list knows sessions that cannot be read just now.
  const known = transcript.session ?? row;
  const title = known?.title ?? null;
  return (
    <header class="head">
      {isPhone && (
        <IconButton name="back" label="All sessions" onClick={() => go({ session: null, context: null })} />
      )}
      <div class="head-words">
        {renaming ? (
          <Rename row={{ id, title }} onDone={() => setRenaming(false)} />
        ) : (
          <h1 class="cut">{known === undefined ? "Session" : titleOf(known)}</h1>
        )}
        <StateLine transcript={transcript} />
      </div>
      <RunButton transcript={transcript} />
      <SessionMenu row={{ id }} onRename={() => setRenaming(true)} />
    </header>
  );
};

/** Follows whether the browser has a network: it knows before a broken connection shows. */
const useNetwork = (): boolean => {
  const [isThere, setThere] = useState(navigator.onLine);
  useEffect(() => {
    const look = (): void => setThere(navigator.onLine);
    look();
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);
  return isThere;
};

const placeWords = ["goes out when connected", "second in line", "third in line"];

/** What the server has not acknowledged yet. */
const Kept = ({ transcript }: { readonly transcript: Transcript }) => {
  const session = useSession();
  const { report } = useApp();
  const hasNetwork = useNetwork();
  const online = hasNetwork && transcript.status === "live";
  const inputs = [...transcript.inputs.filter(({ state }) => state === "pending"), ...useStore(session.held)];
  return (
    <>
      {inputs.map((input, at) => (
        <div key={input.id} class="entry said kept">
          <div class="bubble">{textOf(input)}</div>
          <span class={online ? "meta late" : "meta"}>
            {online ? "Being sent" : `Kept on this device · ${placeWords[at] ?? "later in line"}`} ·{" "}
            <button type="button" class="link" onClick={() => report(session.takeBack(input))}>
              Withdraw
            </button>
          </span>
        </div>
      ))}
    </>
  );
};

/** The head of a called agent's page, with the way back. */
const ThreadHead = ({ thread }: { readonly thread: TranscriptThread }) => {
  const { go } = useApp();
  const { id } = useSession();
  const { prefix, agent, task = "", state } = thread;
  const cost = threadCost(useTranscript(slowly), thread.id);
  return (
    <header class="head">
      <IconButton
        name="back"
        label="Back to the conversation"
        onClick={() => go({ session: id, context: null })}
      />
      <div class="head-words">
        <h1 class="cut">{escapeInLine(task)}</h1>
        <p class="cut quiet-text">
          {prefix} {agent} · {stateWords[state]} · {formatUsd(cost)}
        </p>
      </div>
    </header>
  );
};

interface LinesProps {
  readonly transcript: Transcript;
  /** The called agent that has the page; absent: the person's own thread. */
  readonly child: TranscriptThread | undefined;
}

const Lines = ({ transcript: { threads }, child }: LinesProps) => {
  const shown = child ?? threads.find(({ id }) => id === "main");
  const caller = threads.find(({ id }) => id === child?.parent?.thread);
  if (shown === undefined) return null;
  if (caller === undefined) return <Entries thread={shown} />;
  return (
    <Told thread={shown} caller={caller.agent}>
      <Entries thread={shown} />
    </Told>
  );
};

export const ConversationRegion = () => {
  const transcript = useTranscript();
  const { route } = useApp();
  const { thread: wanted } = useStore(route);
  const child = transcript.threads.find(({ id, parent }) => id === wanted && parent !== undefined);
  const agent = transcript.session?.agent ?? "the agent";
  const thread = child?.id ?? "main";
  const ask = openAskOf(transcript);
  const [sent, setSent] = useState(0);
  return (
    <main class="conversation" id="conversation">
      {child === undefined ? <Head transcript={transcript} /> : <ThreadHead thread={child} />}
      <Log
        key={thread}
        thread={thread}
        transcript={transcript}
        sent={sent}
        askWords={`${escapeInLine(ask?.label ?? agent)} ${ask?.kind === "question" ? "asks you" : "needs you"}`}
      >
        {transcript.session === null && transcript.status !== "closed" && <Loading />}
        <Lines transcript={transcript} child={child} />
        <Kept transcript={transcript} />
      </Log>
      <Dock transcript={transcript} agent={agent} onSent={() => setSent((before) => before + 1)} />
    </main>
  );
};
