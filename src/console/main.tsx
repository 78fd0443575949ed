import { render } from "preact";
import { createClient } from "../client/index.ts";
import type { LimpetClient } from "../client/index.ts";
import { Page } from "./app.tsx";
import type { Announcements, Sentence } from "./app.tsx";
import { describeFault } from "./conversation/problems.ts";
import { createStore } from "./state/store.ts";
import { createReader } from "./parts/reader.ts";
import { untilReached } from "./state/again.ts";
import { readTeam } from "./state/agents.ts";
import type { TeamFacts } from "./state/agents.ts";
import { titleOf } from "./sessions/status.ts";
import { announceEvents } from "./state/announcements.ts";
import { createApi } from "./state/api.ts";
import type { App, Layer } from "./state/app.ts";
import { keepInput } from "./state/kept.ts";
import { createOpening } from "./state/opening.ts";
import type { KeptOpening } from "./state/opening.ts";
import { readRoute, writeRoute } from "./state/route.ts";
import type { PageAddress } from "./state/route.ts";
import { nameKey, openSession } from "./state/session.ts";
import type { SessionControl } from "./state/session.ts";
import { createSessions } from "./state/sessions.ts";
import { setOwner } from "./state/tab.ts";

/** Begins the page: makes what its regions share, and follows its address. */

const key = createStore("");
const route = createStore<PageAddress>(readRoute(location.hash));
const team = createStore<TeamFacts | null>(null);
const session = createStore<SessionControl | null>(null);
const panel = createStore(matchMedia("(min-width: 1180px)").matches);
const fault = createStore<string | null>(null);
const layer = createStore<Layer>(null);
const announcements: Announcements = {
  polite: createStore<readonly Sentence[]>([]),
  urgent: createStore<readonly Sentence[]>([]),
};
let announced = 0;

const clientFor = (token: string): LimpetClient =>
  createClient({ url: location.origin, ...(token === "" ? {} : { token }) });
let client = clientFor("");
/** Names whose the kept texts are. A token names nobody: its claims do, which are no secret. */
const nameOwner = (token: string): string => nameKey(token) || token.split(".", 1).join("");
setOwner(nameOwner(""));
const api = createApi(() => client);
const isSeen = (): boolean => !document.hidden;
const sessions = createSessions(api, isSeen);

const report = (work: Promise<unknown>): void =>
  void work.catch((thrown: unknown) => fault.set(describeFault(thrown)));

const announce = (text: string, urgent = false): void => {
  const sentence = { id: (announced += 1), text };
  (urgent ? announcements.urgent : announcements.polite).set((before) => [...before.slice(-3), sentence]);
};

const go = (next: PageAddress): void => {
  const address = writeRoute(next);
  if (address !== (location.hash || "#")) history.pushState(null, "", address);
  route.set(next);
};

/** So many frames are waited for the composer to be drawn. */
const focusWithin = 60;

/** Puts the focus where one writes, unless a person is on the way through the page by keyboard. */
const focusComposer = (frames = focusWithin): void => {
  // On a phone the focus would bring up the keyboard over what is to be read.
  if (matchMedia("(max-width: 759px)").matches) return;
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body && document.activeElement !== null) return;
    const composer = document.getElementById("composer");
    if (composer !== null) composer.focus({ preventScroll: true });
    else if (frames > 0) focusComposer(frames - 1);
  });
};

/** The session that this page has created and not shown yet. */
let created: string | null = null;

const create = async (
  { key: opened, agent, content, files }: KeptOpening,
  signal: AbortSignal,
): Promise<void> => {
  const body = {
    ...(agent === null ? {} : { agent }),
    ...(files.length === 0 ? { input: { content } } : {}),
  };
  const { id } = await client.sessions.create(body, { key: opened, signal });
  // Its files go out with the first message, once the session is shown.
  if (files.length > 0) keepInput({ session: id, id: opened, content, mode: "queue", files });
  // Who has opened another session meanwhile stays there, unless that would keep the message back.
  if (route.get().session === null || files.length > 0) {
    created = id;
    go({ session: id, context: null });
  }
  sessions.refresh();
};

const app: App = {
  api,
  key,
  route,
  go,
  sessions,
  team,
  session,
  opening: createOpening(create, report),
  report,
  fault,
  announce,
  show: layer.set,
  panel,
};

/** Opens the session of the address, and closes the one before. */
let stopAnnouncing = (): void => undefined;
const showSession = (): void => {
  const { session: wanted } = route.get();
  const open = session.get();
  if (open?.id === wanted) return;
  stopAnnouncing();
  open?.close();
  const next = wanted === null ? null : openSession(client, api, wanted, key.get(), report);
  stopAnnouncing = next === null ? () => undefined : announceEvents(next.open, announce, wanted === created);
  created = null;
  session.set(next);
  focusComposer();
};

const teamReader = createReader((signal) =>
  untilReached(() => readTeam(api, signal), signal).then(team.set, () => undefined),
);

const readServer = (): void => {
  sessions.restart();
  teamReader.restart();
};

const nameTab = (): void => {
  const { rows, asks } = sessions.list.get();
  const row = rows.find(({ id }) => id === route.get().session);
  const title = row === undefined ? "Limpet" : `${titleOf(row)} · Limpet`;
  const waiting = [...asks.values()].filter((kind) => kind !== "client_tool").length;
  document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title}`;
};

route.subscribe(showSession);
route.subscribe(nameTab);
sessions.list.subscribe(nameTab);
key.subscribe(() => {
  setOwner(nameOwner(key.get()));
  client = clientFor(key.get());
  session.get()?.close();
  session.set(null);
  showSession();
  app.opening.resume();
  sessions.query.set("");
  fault.set(null);
  readServer();
});
document.addEventListener("visibilitychange", () => isSeen() && sessions.refresh());
addEventListener("popstate", () => route.set(readRoute(location.hash)));
addEventListener("hashchange", () => route.set(readRoute(location.hash)));

/** What is cut off is whole in the title that shows while the pointer rests on it. */
document.addEventListener("pointerover", ({ target }) => {
  const cut = target instanceof Element && target.closest<HTMLElement>(".cut, .line-words, .line-result");
  if (!cut) return;
  if (cut.scrollWidth > cut.clientWidth) cut.title = cut.textContent;
  else cut.removeAttribute("title");
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
// The session is asked for first, and before anything is drawn: all that is shown waits for its answer.
showSession();
app.opening.resume();
// The requests leave at the end of this task: the page is drawn while the server works on them.
setTimeout(() => {
  render(<Page app={app} announcements={announcements} layer={layer} />, root);
  readServer();
  focusComposer();
});
