import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Transcript } from "../../client/transcript.ts";
import { Icon } from "../parts/icons.tsx";
import { useSession } from "../state/app.ts";

/** The scrolled log: it stays at its end while one is there, and never moves by itself elsewhere. */

const nearEnd = 60;

const isAtEnd = (log: HTMLElement): boolean => log.scrollHeight - log.scrollTop - log.clientHeight < nearEnd;

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

/** Says whether an open ask stands outside of what is seen. */
const findHiddenAsk = (log: HTMLElement): HTMLElement | null => {
  const seen = log.getBoundingClientRect();
  const asks = [...log.querySelectorAll<HTMLElement>(".ask")];
  const isSeen = (ask: HTMLElement): boolean => {
    const { top, bottom } = ask.getBoundingClientRect();
    return bottom > seen.top + 40 && top < seen.bottom - 40;
  };
  return asks.some(isSeen) ? null : (asks[0] ?? null);
};

interface LogProps {
  readonly transcript: Transcript;
  readonly onEarlier: () => void;
  readonly children: ComponentChildren;
  readonly askWords: string;
}

const countEntries = ({ threads }: Transcript): number =>
  threads.find(({ id }) => id === "main")?.entries.length ?? 0;

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

/** Where logs were left that are not shown now, by session; one that was left at its end is not among them. */
const leftPlaces = new Map<string, number>();

/** Keeps the log at its end while one is there; `count` says how many entries there are. */
const useFollowing = (session: string, count: number) => {
  const log = useRef<HTMLDivElement>(null);
  const follows = useRef(!leftPlaces.has(session));
  const [left, setLeft] = useState<number | null>(null);
  const [hasHiddenAsk, setHiddenAsk] = useState(false);
  const follow = (): void => {
    if (log.current === null) return;
    if (follows.current) log.current.scrollTop = log.current.scrollHeight;
    setHiddenAsk(findHiddenAsk(log.current) !== null);
  };
  useLayoutEffect(() => {
    if (log.current !== null) keepOneStop(log.current);
    follow();
  });
  useLayoutEffect(() => {
    const element = log.current;
    element?.scrollTo({ top: leftPlaces.get(session) ?? element.scrollHeight });
    return () => {
      if (follows.current || element === null) leftPlaces.delete(session);
      else leftPlaces.set(session, element.scrollTop);
    };
  }, []);
  useEffect(() => {
    const watch = new ResizeObserver(follow);
    for (const element of [log.current, log.current?.firstElementChild])
      if (element != null) watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return {
    log,
    hasHiddenAsk,
    missed: left === null ? null : count - left,
    jump: (): void => {
      follows.current = true;
      setLeft(null);
      follow();
    },
    scrolled: (): void => {
      if (log.current === null) return;
      follows.current = isAtEnd(log.current);
      setLeft((before) => (follows.current ? null : (before ?? count)));
      setHiddenAsk(findHiddenAsk(log.current) !== null);
    },
  };
};

export const Log = ({ transcript, onEarlier, children, askWords }: LogProps) => {
  const { id } = useSession();
  const { log, hasHiddenAsk, missed, jump, scrolled } = useFollowing(id, countEntries(transcript));
  const showAsk = (): void => {
    if (log.current !== null) findHiddenAsk(log.current)?.scrollIntoView({ block: "center" });
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
          scrolled();
          if (transcript.earlier && (log.current?.scrollTop ?? 0) < 200) onEarlier();
        }}
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
