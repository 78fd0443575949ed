import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LimpetError } from "../../client/index.ts";
import type { Transcript, TranscriptAsk, TranscriptEntry } from "../../client/transcript.ts";
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

/** Counts the messages and calls that came after an entry: those before it, which are read as one scrolls up, are not new. */
const countAfter = (entries: readonly TranscriptEntry[], last: string): number => {
  const at = entries.findLastIndex(({ id }) => id === last);
  return at === -1 ? 0 : entries.slice(at + 1).filter(({ kind }) => kind !== "note").length;
};

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

/** Says how far below the upper edge of the log an entry begins; null if it is not there. */
const findBelow = (log: HTMLElement, entry: string): number | null => {
  // An entry may have several rows.
  const row = log.querySelector(`[data-entry="${CSS.escape(entry)}"]`);
  return row === null ? null : row.getBoundingClientRect().top - log.getBoundingClientRect().top;
};

/** Finds the first entry that is seen. */
const findPlace = (log: HTMLElement): Place | null => {
  const { top } = log.getBoundingClientRect();
  for (const row of log.querySelectorAll<HTMLElement>("[data-entry]")) {
    const { entry = "" } = row.dataset;
    if (row.getBoundingClientRect().bottom > top) return { entry, below: findBelow(log, entry) ?? 0 };
  }
  return null;
};

/** Returns how far the log has to be scrolled for an entry to stand in its place; null while the entry is not there. */
const scrollFor = (log: HTMLElement, { entry, below }: Place): number | null => {
  const now = findBelow(log, entry);
  return now === null ? null : log.scrollTop + now - below;
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

/** Where a log stands: at its end, or at an entry whatever comes above it. */
const usePlace = (place: string) => {
  const log = useRef<HTMLDivElement>(null);
  /** Null at the end. */
  const at = useRef(leftPlaces.get(place) ?? null);
  /** The entry at which the log was left may not have been read yet. */
  const isThere = useRef(at.current === null);
  const top = useRef(0);
  useLayoutEffect(
    () => () => {
      if (at.current === null) leftPlaces.delete(place);
      else leftPlaces.set(place, at.current);
    },
    [],
  );
  /** Stays where it is now. */
  const stay = (element: HTMLDivElement, follows: boolean): void => {
    at.current = follows ? null : findPlace(element);
    isThere.current = true;
    top.current = element.scrollTop;
  };
  /** Tells whether a person has scrolled it, not the page. */
  const isMoved = (element: HTMLDivElement): boolean => element.scrollTop !== top.current;
  return {
    log,
    stay,
    isMoved,
    follows: (): boolean => at.current === null,
    /** Scrolls to where it has to stand by now. */
    hold: (element: HTMLDivElement): void => {
      // Where a person scrolled to counts, also before the browser tells of it. What became shorter moves one to its end.
      if (isMoved(element) && !isAtEnd(element, 1)) return;
      const goal = at.current === null ? element.scrollHeight : scrollFor(element, at.current);
      if (goal !== null) {
        if (Math.abs(element.scrollTop - goal) >= 1) element.scrollTop = goal;
        top.current = element.scrollTop;
        isThere.current ||= Math.abs(top.current - goal) < 1;
      } else if (isThere.current) stay(element, false);
    },
    /** Takes note of where a person scrolled to. */
    note: (element: HTMLDivElement): void => {
      // What grows below one who is at the end takes them nowhere: only a way up leaves it, however short it is.
      const goesUp = element.scrollTop < top.current;
      stay(element, goesUp ? isAtEnd(element, 1) : at.current === null || isAtEnd(element));
    },
    /** Tells whether entries are wanted that stand before those that are there. */
    needsEarlier: (element: HTMLDivElement): boolean =>
      element.scrollTop < nearStart ||
      (at.current !== null && !isThere.current && scrollFor(element, at.current) === null),
  };
};

/** Keeps the log in its place, and counts what came since its end was left. */
const useFollowing = (session: string, { thread, transcript, sent }: LogProps) => {
  const entries = transcript.threads.find(({ id }) => id === thread)?.entries ?? [];
  const open = useRef<Transcript["asks"]>([]);
  open.current = personsAsks(transcript);
  const { log, stay, follows, isMoved, hold, note, needsEarlier } = usePlace(`${session} ${thread}`);
  /** The last entry when the end was left; null at the end. */
  const [left, setLeft] = useState<string | null>(null);
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
  const look = (element: HTMLDivElement): void => {
    setLeft((before) => (follows() ? null : (before ?? entries.at(-1)?.id ?? "")));
    setHiddenAsk(findHiddenAsk(element, open.current) !== null);
  };
  const jump = (): void => {
    if (log.current !== null) stay(log.current, true);
    setLeft(null);
    keep();
  };
  useSent(sent, jump);
  return {
    log,
    needsEarlier,
    hasHiddenAsk,
    missed: left === null ? null : countAfter(entries, left),
    jump,
    /** Returns whether a person has scrolled, not the page. */
    scrolled: (element: HTMLDivElement): boolean => {
      const byPerson = isMoved(element);
      if (byPerson) note(element);
      look(element);
      return byPerson;
    },
    /** A row that is opened stays where it is, and what it shows may reach beyond the end. */
    clicked: (element: HTMLDivElement, target: EventTarget | null): void => {
      if (!(target instanceof Element) || target.closest('[aria-expanded="false"]') === null) return;
      stay(element, false);
      requestAnimationFrame(() => {
        stay(element, isAtEnd(element, 1));
        look(element);
      });
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
        onScroll={({ currentTarget }) => readEarlier(scrolled(currentTarget))}
        onClickCapture={({ currentTarget, target }) => clicked(currentTarget, target)}
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
