import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { formatUntil } from "../parts/format.ts";
import { useNow } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import type { IconName } from "../parts/icon-paths.ts";
import type { AskAnswer } from "../state/session.ts";

/** What all cards of asks have in common. */

export interface AskProps {
  readonly ask: TranscriptAsk;
  /** The agent that asks, as people know it. */
  readonly agent: string;
  readonly busy: boolean;
  readonly answer: (answer: AskAnswer) => void;
}

const defaults = {
  approval: "denied by itself in",
  question: "closes by itself in",
  budget: "stops by itself in",
  authorization: "goes on without in",
  client_tool: "given up in",
} as const;

/** Says what happens if nobody answers. */
const describeDefault = ({ kind, approval }: TranscriptAsk): string =>
  approval?.on_timeout === undefined ? defaults[kind] : "approved by itself in";

/** Focuses an element of a card after the next rendering, such as the button of what was just closed. */
export const useFocusIn = () => {
  const card = useRef<HTMLElement>(null);
  const wanted = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    card.current?.querySelector<HTMLElement>(wanted.current)?.focus();
    wanted.current = null;
  });
  return {
    card,
    focusNext: (selector: string): void => {
      wanted.current = selector;
    },
  };
};

/** Brings a card into sight as a whole, its buttons too, whenever it comes to show something else. */
export const useInSight = (card: RefObject<HTMLElement>, shown: string): void => {
  const known = useRef(shown);
  useLayoutEffect(() => {
    if (shown !== known.current) card.current?.scrollIntoView({ block: "nearest" });
    known.current = shown;
  }, [shown]);
};

interface FrameProps {
  readonly ask: TranscriptAsk;
  readonly icon: IconName;
  readonly tag: string;
  readonly aside?: string;
  readonly card?: ReturnType<typeof useFocusIn>["card"];
  /** Closes what is open in the card. Esc in the card does it; where nothing is open, Esc is the page's. */
  readonly onBack?: (() => void) | null;
  readonly children: ComponentChildren;
}

/** The frame of every ask: its tag, what happens by itself and when, and its content. */
export const AskFrame = ({ ask, icon, tag, aside, card, onBack = null, children }: FrameProps) => {
  const now = useNow(1_000);
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.isComposing || onBack === null) return;
    event.preventDefault();
    event.stopPropagation();
    onBack();
  };
  const until = `${describeDefault(ask)} ${formatUntil(ask.expires_at, now)}`;
  return (
    <section class="ask" aria-label={tag} data-ask={ask.id} ref={card ?? null} onKeyDown={press}>
      <p class="ask-tag">
        <Icon name={icon} />
        <strong>{tag}</strong>
        <span class="meta">{aside === undefined ? until : `${aside} · ${until}`}</span>
      </p>
      {children}
    </section>
  );
};
