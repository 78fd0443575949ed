import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Transcript, TranscriptThread } from "../../client/transcript.ts";
import type { Store } from "./store.ts";
import { useNow, useStore } from "../parts/hooks.ts";
import type { TeamFacts } from "./agents.ts";
import type { Api } from "./api.ts";
import type { Opening } from "./opening.ts";
import type { PageAddress } from "./route.ts";
import type { SessionControl } from "./session.ts";
import type { Sessions } from "./sessions.ts";

export type Layer = "forget" | "keys" | "palette" | "permissions" | "stop" | null;

/** What the regions share. */
export interface App {
  readonly api: Api;
  /** Held in memory only; empty where the server needs none. */
  readonly key: Store<string>;
  readonly route: Store<PageAddress>;
  readonly go: (route: PageAddress) => void;
  readonly sessions: Sessions;
  /** Null until the server has answered. */
  readonly team: Store<TeamFacts | null>;
  /** The session that is shown. */
  readonly session: Store<SessionControl | null>;
  /** Creates sessions with their first message, and shows them. */
  readonly opening: Opening;
  /** Shows the fault of some work, once. */
  readonly report: (work: Promise<unknown>) => void;
  /** The sentence of the newest fault; null after it was put away. */
  readonly fault: Store<string | null>;
  /** Says a sentence to who listens; at once if it needs the person. */
  readonly announce: (sentence: string, urgent?: boolean) => void;
  /** Shows a layer over the page: `forget` asks, and forgets the key and what was not sent. */
  readonly show: (layer: Layer) => void;
  /** The region that a phone shows over the conversation, and whether the panel of a desk is open. */
  readonly panel: Store<boolean>;
}

export const AppContext = createContext<App | null>(null);

export const useApp = (): App => {
  const app = useContext(AppContext);
  if (app === null) throw new Error("a region stands outside of the app");
  return app;
};

export const SessionContext = createContext<SessionControl | null>(null);

/** Returns the control of the session that the component shows. */
export const useSession = (): SessionControl => {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("a part of a conversation stands outside of one");
  return session;
};

/** Follows the transcript of the session, at each frame or each so many milliseconds. */
export const useTranscript = (every = 0): Transcript => {
  const { open } = useSession();
  return useStore({ get: open.getSnapshot, subscribe: open.subscribe }, every);
};

/** Figures that need not follow a stream are shown again after so many milliseconds. */
export const slowly = 250;

/**
 * Says the time for what is under way, each second while `on`. Without a connection nobody knows how it goes on: then it is
 * the time at which the connection was lost.
 */
export const useRunClock = (on = true): number => {
  const session = useSession();
  const now = useNow(1_000, on);
  return session.lostAt() ?? now;
};

/** Follows one thread: the component is rendered again only if that thread changed. */
export const useThread = (id: string): TranscriptThread | null => {
  const { open } = useSession();
  const find = (): TranscriptThread | null =>
    open.getSnapshot().threads.find((each) => each.id === id) ?? null;
  const [, setThread] = useState(find);
  useEffect(() => {
    const show = (): void => setThread(find);
    show();
    return open.subscribe(show);
  }, [open, id]);
  return find();
};
