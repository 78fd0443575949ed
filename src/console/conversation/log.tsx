import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LimpetError } from "../../client/index.ts";
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

/** An entry, and by how many pixels it begins below the upper edge of the log. */
interface Place {
  readonly entry: string;
  readonly below: number;
}

/** Where logs were left that are not shown now, by session and thread; one that was left at its end is not among them. */
const leftPlaces = new Map<string, Place>();

/** Finds the first entry that is seen. */
const findPlace = (log: HTMLElement): Place | null => {
  const { top } = log.getBoundingClientRect();
  for (const row of log.querySelectorAll<HTMLElement>("[data-entry]")) {
    const { top: begin, bottom } = row.getBoundingClientRect();
    if (bottom > top) return { entry: row.dataset["entry"] ?? "", below: begin - top };
  }
  return null;
};

/** Returns how far the log has to be scrolled for an entry to stand in its place; null while the entry is not there. */
const scrollFor = (log: HTMLElement, { entry, below }: Place): number | null => {
  const row = log.querySelector(`[data-entry="${CSS.escape(entry)}"]`);
  if (row === null) return null;
  return log.scrollTop + row.getBoundingClientRect().top - log.getBoundingClientRect().top - below;
};

/** Says whether a log begins elsewhere than at its end. */
export const hasLeftPlace = (session: string, thread: string): boolean =>
  leftPlaces.has(`${session} ${thread}`);

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

/** So many pixels before its beginning the log asks for earlier entries. */
const nearStart = 200;

/** Where a log stands: at its end as long as one stays there, or where it was left. */
const usePlace = (place: string) => {
  const log = useRef<HTMLDivElement>(null);
  /** Where the log is to stand, until it can; null once it does or a person scrolls. */
  const wanted = useRef(leftPlaces.get(place) ?? null);
  const follows = useRef(wanted.current === null);
  const top = useRef(0);
  useLayoutEffect(() => {
    const element = log.current;
    return () => {
      const left = follows.current || element === null ? null : (wanted.current ?? findPlace(element));
      if (left === null) leftPlaces.delete(place);
      else leftPlaces.set(place, left);
    };
  }, []);
  /** Rows that come above move nobody: browsers see to that, but for one who is at the very beginning. */
  const keepStart = (element: HTMLDivElement): void => {
    if (element.scrollTop === 0 && !follows.current) wanted.current ??= findPlace(element);
  };
  return {
    log,
    /** Stays where it stands, or goes to the end. */
    follow: (isFollowing: boolean): void => {
      follows.current = isFollowing;
      wanted.current = null;
    },
    /** Scrolls to where it has to stand by now. */
    hold: (element: HTMLDivElement): void => {
      const { current } = wanted;
      const goal =
        current === null ? (follows.current ? element.scrollHeight : null) : scrollFor(element, current);
      if (goal === null) return;
      element.scrollTop = goal;
      top.current = element.scrollTop;
      if (Math.abs(top.current - goal) < 1) wanted.current = null;
      keepStart(element);
    },
    /** Tells whether a person has scrolled it, not the page. */
    isScrolled: (element: HTMLDivElement): boolean => element.scrollTop !== top.current,
    /** Takes note of where it was scrolled to; returns whether it follows its end. */
    note: (element: HTMLDivElement, within?: number): boolean => {
      if (wanted.current !== null && element.scrollTop === top.current) return false;
      wanted.current = null;
      // What grows below one who is at the end takes them nowhere: only a way up leaves it, however short it is.
      const goesUp = element.scrollTop < top.current;
      top.current = element.scrollTop;
      follows.current = goesUp ? isAtEnd(element, 1) : follows.current || isAtEnd(element, within);
      keepStart(element);
      return follows.current;
    },
    /** Tells whether entries are wanted that stand before those that are there. */
    needsEarlier: (element: HTMLDivElement): boolean =>
      element.scrollTop < nearStart ||
      (wanted.current !== null && scrollFor(element, wanted.current) === null),
  };
};

/** Keeps the log in its place, and counts what came since its end was left. */
const useFollowing = (session: string, { thread, transcript, sent }: LogProps) => {
  const count = countEntries(transcript, thread);
  const open = useRef<Transcript["asks"]>([]);
  open.current = personsAsks(transcript);
  const { log, follow, hold, note, needsEarlier, isScrolled } = usePlace(`${session} ${thread}`);
  const [left, setLeft] = useState<number | null>(null);
  const [hasHiddenAsk, setHiddenAsk] = useState(false);
  const keep = (): void => {
    if (log.current === null) return;
    hold(log.current);
    setHiddenAsk(findHiddenAsk(log.current, open.current) !== null);
  };
  useLayoutEffect(keep);
  useOneStop(log, transcript.seq);
  useEffect(() => {
    const watch = new ResizeObserver(keep);
    for (const element of [log.current, log.current?.firstElementChild])
      if (element != null) watch.observe(element);
    return () => watch.disconnect();
  }, []);
  /** Returns whether a person has scrolled, not the page. */
  const look = (within?: number): boolean => {
    if (log.current === null) return false;
    const byPerson = isScrolled(log.current);
    const isFollowing = note(log.current, within);
    setLeft((before) => (isFollowing ? null : (before ?? count)));
    setHiddenAsk(findHiddenAsk(log.current, open.current) !== null);
    return byPerson;
  };
  const jump = (): void => {
    follow(true);
    setLeft(null);
    keep();
  };
  useSent(sent, jump);
  return {
    log,
    needsEarlier,
    hasHiddenAsk,
    missed: left === null ? null : count - left,
    jump,
    scrolled: (): boolean => look(),
    /** A row that is opened stays where it is, and what it shows may reach beyond the end. */
    clicked: ({ target }: Event): void => {
      if (!(target instanceof Element) || target.closest('[aria-expanded="false"]') === null) return;
      follow(false);
      requestAnimationFrame(() => look(1));
    },
  };
};

/** Brings earlier entries where they are needed; after a refusal, when the server says or a person scrolls again. */
const useEarlier = (transcript: Transcript, isNeeded: () => boolean) => {
  const { report } = useApp();
  const { open } = useSession();
  const waits = useRef<"answer" | "person" | null>(null);
  const [, look] = useState({});
  const stopWaiting = (): void => {
    waits.current = null;
  };
  const goOn = (): void => {
    stopWaiting();
    look({});
  };
  const wait = (fault: unknown): void => {
    const after = fault instanceof LimpetError ? fault.problem.retry_after_ms : undefined;
    if (after === undefined) waits.current = "person";
    else setTimeout(goOn, after);
  };
  const read = (): void => {
    // What was refused may be asked again over a new connection.
    if (transcript.status !== "live") stopWaiting();
    else if (transcript.earlier && waits.current === null && isNeeded()) {
      waits.current = "answer";
      const work = open.loadEarlier();
      report(work);
      // While the page does not show the first entries yet, it would ask for earlier ones without end.
      void work.then((hasMore) => (hasMore ? goOn() : stopWaiting()), wait);
    }
  };
  useLayoutEffect(read);
  return (isScrolled: boolean): void => {
    if (isScrolled && waits.current === "person") stopWaiting();
    read();
  };
};

export const Log = (props: LogProps) => {
  const { transcript, children, askWords } = props;
  const { go } = useApp();
  const { id } = useSession();
  const { log, needsEarlier, hasHiddenAsk, missed, jump, scrolled, clicked } = useFollowing(id, props);
  const readEarlier = useEarlier(transcript, () => log.current !== null && needsEarlier(log.current));
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
        onScroll={() => readEarlier(scrolled())}
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
