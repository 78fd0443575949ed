import type { ComponentChildren } from "preact";
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

/** What happens if nobody answers. */
const defaults: Readonly<Record<string, string>> = {
  approval: "denied by itself in",
  question: "goes on without an answer in",
  budget: "stops by itself in",
  authorization: "goes on without in",
  client_tool: "given up in",
};

interface FrameProps {
  readonly ask: TranscriptAsk;
  readonly icon: IconName;
  readonly tag: string;
  readonly aside?: string;
  readonly children: ComponentChildren;
}

/** The frame of every ask: its tag, what happens by itself and when, and its content. */
export const AskFrame = ({ ask, icon, tag, aside, children }: FrameProps) => {
  const now = useNow(1_000);
  return (
    <section class="ask" aria-label={tag} data-ask={ask.id}>
      <p class="ask-tag">
        <Icon name={icon} />
        <strong>{tag}</strong>
        <span class="meta">
          {aside ?? `${defaults[ask.kind] ?? "over in"} ${formatUntil(ask.expires_at, now)}`}
        </span>
      </p>
      {children}
    </section>
  );
};
