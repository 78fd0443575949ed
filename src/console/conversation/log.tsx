import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Transcript, TranscriptAsk } from "../../client/transcript.ts";
import { Icon } from "../parts/icons.tsx";
import { useApp, useSession } from "../state/app.ts";

/** The scrolled log: it stays at its end while one is there, and never moves by itself elsewhere. */

const nearEnd = 60;

const isAtEnd = (log: HTMLElement, within = nearEnd): boolean =>
  log.scrollHeight - log.scrollTop - log.clientHeight < within;

/** Exactly one row of the log is a stop of the Tab key: the one that had the focus last, else the last one. */
const keepOneStop = (log: HTMLElement): void => {
  if (log.querySelector('[data-line][tabindex="0"]') !== null) return;
  [...log.querySelectorAll("[data-line]")].at(-1)?.setAttribute("tabindex", "0");
};

const moveStop = (log: HTMLElement, target: EventTarget | null): void => {
  if (!(target instanceof HTMLElement) || !target.matches("[data-line]")) return;
  for (const line of log.querySelectorAll('[data-line][tabindex="0"]')) line.setAttribute("tabindex", "-1");
  target.setAttribute("tabindex", "0");
};

const moveInLog = (event: KeyboardEvent): void => {
  const log = event.currentTarget;
  if (!(log instanceof HTMLElement) || !(event.target instanceof HTMLElement)) return;
  if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || !event.target.matches("[data-line]")) return;
  event.preventDefault();
  const lines = [...log.querySelectorAll<HTMLElement>("[data-line]")];
  lines[lines.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
};

/** Finds an open ask outside of what is seen: where it stands in the log, else itself. */
const findHiddenAsk = (log: HTMLElement, open: Transcript["asks"]): HTMLElement | TranscriptAsk | null => {
  if (open.length === 0) return null;
  const seen = log.getBoundingClientRect();
  const asks = [...log.querySelectorAll<HTMLElement>(".ask")];
  const isSeen = (ask: HTMLElement): boolean => {
    const { top, bottom } = ask.getBoundingClientRect();
    return bottom > seen.top + 40 && top < seen.bottom - 40;
  };
  const isHere = ({ id }: TranscriptAsk): boolean => asks.some(({ dataset }) => dataset["ask"] === id);
  return asks.some(isSeen) ? null : (asks[0] ?? open.find((ask) => !isHere(ask)) ?? null);
};

interface LogProps {
  readonly transcript: Transcript;
  /** The thread that is shown. */
  readonly thread: string;
  /** So many messages were sent from this page: each of them leads to the end. */
  readonly sent: number;
  readonly onEarlier: () => void;
  readonly children: ComponentChildren;
  readonly askWords: string;
}

const countEntries = ({ threads }: Transcript, thread: string): number =>
  threads.find(({ id }) => id === thread)?.entries.length ?? 0;

/** The asks that a person can answer here. */
const personsAsks = ({ asks }: Transcript): Transcript["asks"] =>
  asks.filter(({ kind }) => kind !== "client_tool");

interface FootProps {
  readonly missed: number | null;
  readonly hasHiddenAsk: boolean;
  readonly askWords: string;
  readonly onJump: () => void;
  readonly onShowAsk: () => void;
}

/** What floats at the end of the log: the way to its end, and to an ask that is not seen. */
const Foot = ({ missed, hasHiddenAsk, askWords, onJump, onShowAsk }: FootProps) => (
  <div class="log-foot">
    {missed !== null && (
      <button type="button" class="jump" data-key="g" onClick={onJump}>
        <Icon name="arrow" />
        {missed > 0 ? `${missed} new` : "To the end"}
      </button>
    )}
    {hasHiddenAsk && (
      <button type="button" class="ask-pointer" onClick={onShowAsk}>
        <span class="dot" />
        {askWords} · <u>Show</u>
      </button>
    )}
  </div>
);

/** Where logs were left that are not shown now, by session and thread; one that was left at its end is not among them. */
const leftPlaces = new Map<string, number>();

/** Says whether a log begins elsewhere than at its end. */
export const hasLeftPlace = (session: string, thread: string): boolean =>
  leftPlaces.has(`${session} ${thread}`);

/** Begins where the log was left, and keeps where it is left. */
const useLeftPlace = (
  place: string,
  log: RefObject<HTMLDivElement>,
  follows: { readonly current: boolean },
) =>
  useLayoutEffect(() => {
    const element = log.current;
    element?.scrollTo({ top: leftPlaces.get(place) ?? element.scrollHeight });
    return () => {
      if (follows.current || element === null) leftPlaces.delete(place);
      else leftPlaces.set(place, element.scrollTop);
    };
  }, []);

/** Jumps once for each message that is sent. */
const useSent = (sent: number, jump: () => void): void => {
  const known = useRef(sent);
  useLayoutEffect(() => {
    if (sent !== known.current) jump();
    known.current = sent;
  }, [sent]);
};

/** Rows come and go with events, not with pieces of text. */
const useOneStop = (log: RefObject<HTMLDivElement>, seq: number): void =>
  useLayoutEffect(() => {
    if (log.current !== null) keepOneStop(log.current);
  }, [seq]);

/** Keeps the log at its end while one is there. */
const useFollowing = (session: string, { thread, transcript, sent }: LogProps) => {
  const place = `${session} ${thread}`;
  const count = countEntries(transcript, thread);
  const open = useRef<Transcript["asks"]>([]);
  open.current = personsAsks(transcript);
  const log = useRef<HTMLDivElement>(null);
  const follows = useRef(!leftPlaces.has(place));
  const top = useRef(0);
  const [left, setLeft] = useState<number | null>(null);
  const [hasHiddenAsk, setHiddenAsk] = useState(false);
  const follow = (): void => {
    if (log.current === null) return;
    if (follows.current) {
      log.current.scrollTop = log.current.scrollHeight;
      top.current = log.current.scrollTop;
    }
    setHiddenAsk(findHiddenAsk(log.current, open.current) !== null);
  };
  useLayoutEffect(follow);
  useOneStop(log, transcript.seq);
  useLeftPlace(place, log, follows);
  useEffect(() => {
    const watch = new ResizeObserver(follow);
    for (const element of [log.current, log.current?.firstElementChild])
      if (element != null) watch.observe(element);
    return () => watch.disconnect();
  }, []);
  /** Returns whether one has left the end. */
  const look = (within?: number): boolean => {
    if (log.current === null) return false;
    // What grows below one who is at the end takes them nowhere: only a way up leaves it.
    const goesUp = log.current.scrollTop < top.current;
    top.current = log.current.scrollTop;
    follows.current = isAtEnd(log.current, within) || (follows.current && !goesUp);
    setLeft((before) => (follows.current ? null : (before ?? count)));
    setHiddenAsk(findHiddenAsk(log.current, open.current) !== null);
    return !follows.current;
  };
  const jump = (): void => {
    follows.current = true;
    setLeft(null);
    follow();
  };
  useSent(sent, jump);
  return {
    log,
    hasHiddenAsk,
    missed: left === null ? null : count - left,
    jump,
    scrolled: (): boolean => look(),
    /** A row that is opened stays where it is, and what it shows may reach beyond the end. */
    clicked: ({ target }: Event): void => {
      if (!(target instanceof Element) || target.closest('[aria-expanded="false"]') === null) return;
      follows.current = false;
      requestAnimationFrame(() => look(1));
    },
  };
};

export const Log = (props: LogProps) => {
  const { transcript, onEarlier, children, askWords } = props;
  const { go } = useApp();
  const { id } = useSession();
  const { log, hasHiddenAsk, missed, jump, scrolled, clicked } = useFollowing(id, props);
  const showAsk = (): void => {
    const found = log.current === null ? null : findHiddenAsk(log.current, personsAsks(transcript));
    if (found instanceof HTMLElement) found.scrollIntoView({ block: "center" });
    else if (found !== null)
      go({ session: id, context: null, thread: found.thread === "main" ? undefined : found.thread });
  };
  return (
    <div class="log-frame">
      <div
        class="log"
        ref={log}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={-1}
        onScroll={() => {
          if (scrolled() && transcript.earlier && (log.current?.scrollTop ?? 0) < 200) onEarlier();
        }}
        onClickCapture={clicked}
        onKeyDown={moveInLog}
        onFocusCapture={(event) => log.current !== null && moveStop(log.current, event.target)}
      >
        <div class="column">{children}</div>
      </div>
      <Foot
        missed={missed}
        hasHiddenAsk={hasHiddenAsk}
        askWords={askWords}
        onJump={jump}
        onShowAsk={showAsk}
      />
    </div>
  );
};
