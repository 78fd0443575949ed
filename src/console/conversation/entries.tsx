import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CallEntry, TranscriptEntry, TranscriptThread } from "../../client/transcript.ts";
import { formatClock } from "../parts/format.ts";
import { memo } from "../parts/hooks.ts";
import { useSession } from "../state/app.ts";
import { Call } from "./call.tsx";
import { hasLeftPlace } from "./log.tsx";
import { Message } from "./message.tsx";
import { Note } from "./note.tsx";
import type { EntryPage } from "./pages.ts";
import { divideIntoPages } from "./pages.ts";
import { isToldLater } from "./sentences.ts";

/** The entries of a thread, in their order. */

const isEdit = (entry: TranscriptEntry): entry is CallEntry =>
  entry.kind === "call" && entry.outcome === "ok" && entry.changes.some(({ diff }) => diff !== undefined);

/** Called threads are shown like their callers. */
const showEntries = (thread: TranscriptThread, level: number) => <Entries thread={thread} level={level} />;

/** After so long a silence the time is said. */
const silence = 5 * 60_000;

const Time = ({ at }: { readonly at: number }) => (
  <p class="entry mark time">
    <span>{formatClock(at)}</span>
  </p>
);

interface PageProps {
  readonly page: EntryPage;
  readonly thread: string;
  readonly agent: string;
  readonly level: number;
  /** When the entry before the page was; null if there is none. */
  readonly before: number | null;
  readonly after: TranscriptEntry | undefined;
  /** The newest edit of the thread, if it stands in this page. */
  readonly newest: string | null;
}

/** A page is shown again only if one of its entries changed. */
const ShownPage = memo<PageProps>(({ page, thread, agent, level, before, after, newest }) => (
  <>
    {page.map((entry, at) => (
      <Fragment key={entry.id}>
        {entry.at - (page[at - 1]?.at ?? before ?? entry.at) > silence && <Time at={entry.at} />}
        {entry.kind === "message" && <Message entry={entry} thread={thread} />}
        {entry.kind === "note" && !isToldLater(entry, [...page.slice(at + 1), after]) && (
          <Note entry={entry} thread={thread} agent={agent} />
        )}
        {entry.kind === "call" && (
          <Call call={entry} agent={agent} level={level} show={showEntries} newest={entry.id === newest} />
        )}
      </Fragment>
    ))}
  </>
));

/** The newest edit of each page that was looked through. */
const newestEdits = new WeakMap<EntryPage, string | null>();

const newestEditIn = (page: EntryPage): string | null => {
  const known = newestEdits.get(page);
  if (known !== undefined) return known;
  const found = page.findLast(isEdit)?.id ?? null;
  newestEdits.set(page, found);
  return found;
};

const usePages = (entries: readonly TranscriptEntry[]): readonly EntryPage[] => {
  const pages = useRef<readonly EntryPage[]>([]);
  pages.current = divideIntoPages(entries, pages.current);
  return pages.current;
};

/** So many pages are drawn at once, and the next ones so many milliseconds later. */
const pagesAtOnce = 2;
const drawEvery = 32;

/** Gives the page to begin with: a thread shows its end at once, and what stands above it a little more at each frame. */
const useFirst = (pages: readonly EntryPage[], atOnce: boolean): number => {
  const keys = pages.map(([entry]) => entry?.id);
  const [shown, setShown] = useState(atOnce ? keys[0] : undefined);
  const at = shown === undefined ? -1 : keys.indexOf(shown);
  const first = at === -1 ? Math.max(0, keys.length - pagesAtOnce) : at;
  const next = keys[Math.max(0, first - pagesAtOnce)];
  useEffect(() => {
    const timer = setTimeout(() => setShown(next), drawEvery);
    return () => clearTimeout(timer);
  }, [next]);
  return first;
};

interface EntriesProps {
  readonly thread: TranscriptThread;
  readonly level?: number;
}

export const Entries = ({ thread, level = 0 }: EntriesProps) => {
  const { agent, id } = thread;
  const session = useSession();
  const pages = usePages(thread.entries);
  const first = useFirst(pages, level > 0 || hasLeftPlace(session.id, id));
  const newest = pages.findLastIndex((page) => newestEditIn(page) !== null);
  return (
    <>
      {pages.map(
        (page, at) =>
          at >= first && (
            <ShownPage
              key={page[0]?.id}
              page={page}
              thread={id}
              agent={agent}
              level={level}
              before={pages[at - 1]?.at(-1)?.at ?? null}
              after={pages[at + 1]?.[0]}
              newest={at === newest ? newestEditIn(page) : null}
            />
          ),
      )}
    </>
  );
};
