import { useEffect, useState } from "preact/hooks";
import type { Transcript } from "../client/transcript.ts";
import { ConversationRegion } from "./conversation/region.tsx";
import { StopQuestion, hasRunningCall, openAskOf, stopRun } from "./conversation/dock.tsx";
import { FirstPage } from "./conversation/first.tsx";
import { IconButton } from "./parts/controls.tsx";
import { escapeInLine } from "./parts/escape.ts";
import type { Store } from "./state/store.ts";
import { useMedia, useStore } from "./parts/hooks.ts";
import { lazy } from "./parts/lazy.tsx";
import { pressKey } from "./palette/keys.ts";
import { SessionsRegion } from "./sessions/list.tsx";
import type { App, Layer } from "./state/app.ts";
import { AppContext, SessionContext, slowly, useApp, useSession, useTranscript } from "./state/app.ts";
import type { SessionControl } from "./state/session.ts";

const NoSession = lazy(async () => (await import("./refused.tsx")).NoSession);
const KeyPage = lazy(async () => (await import("./refused.tsx")).KeyPage);
const ContextRegion = lazy(async () => (await import("./context/region.tsx")).ContextRegion);
const RunPanel = lazy(async () => (await import("./run/panel.tsx")).RunPanel);
const Palette = lazy(async () => (await import("./palette/palette.tsx")).Palette);
const GrantsDialog = lazy(async () => (await import("./palette/grants-dialog.tsx")).GrantsDialog);
const ForgetDialog = lazy(async () => (await import("./palette/forget-dialog.tsx")).ForgetDialog);
const KeysDialog = lazy(async () => (await import("./palette/keys-dialog.tsx")).KeysDialog);

/** The page: three regions on a desk, one at a time on a phone. */

/** A sentence for who listens. Each is an element of its own: the same one twice is told twice. */
export interface Sentence {
  readonly id: number;
  readonly text: string;
}

/** The newest ones. */
type Sentences = Store<readonly Sentence[]>;

/** Those that wait their turn, and those that do not. */
export interface Announcements {
  readonly polite: Sentences;
  readonly urgent: Sentences;
}

const Voice = ({
  sentences,
  live,
}: {
  readonly sentences: Sentences;
  readonly live: "polite" | "assertive";
}) => (
  <p class="hidden" aria-live={live}>
    {useStore(sentences).map(({ id, text }) => (
      <span key={id}>{text} </span>
    ))}
  </p>
);

/** The sentence of the newest fault, until it is put away. */
const Fault = () => {
  const { fault } = useApp();
  const text = useStore(fault);
  if (text === null) return null;
  return (
    <div class="fault" role="alert">
      <span>{escapeInLine(text)}</span>
      <IconButton name="close" label="Put this away" onClick={() => fault.set(null)} />
    </div>
  );
};

/** The panel beside the conversation on a desk, over it where the page is narrow. */
const Panel = () => {
  const { panel } = useApp();
  const isOpen = useStore(panel);
  const isDrawer = useMedia("(max-width: 1179px)");
  useEffect(() => panel.set(!isDrawer), [isDrawer]);
  if (!isOpen) return null;
  const close = (): void => panel.set(false);
  if (!isDrawer) return <RunPanel onClose={close} />;
  return (
    <div class="drawer">
      <button type="button" class="veil" aria-label="Close the panel" tabIndex={-1} onClick={close} />
      <RunPanel onClose={close} />
    </div>
  );
};

/** Problems that leave nothing of a session to show. */
const closedCodes: readonly string[] = ["not_found", "scope_missing", "forbidden"];

const Session = () => {
  const { route } = useApp();
  const { context } = useStore(route);
  const { status, problem, session } = useTranscript(slowly);
  const code = problem?.code ?? "";
  if (status === "closed" && (session === null || code === "not_found") && closedCodes.includes(code))
    return <NoSession missing={code === "not_found"} />;
  if (context !== null) return <ContextRegion place={context} />;
  return (
    <>
      <ConversationRegion />
      <Panel />
    </>
  );
};

const Regions = ({ control }: { readonly control: SessionControl | null }) => {
  const { route, sessions } = useApp();
  const { session } = useStore(route);
  const { state } = useStore(sessions.list);
  const isPhone = useMedia("(max-width: 759px)");
  if (state === "refused") return <KeyPage />;
  // The keys keep what stands in a region where a window that changes its width changes their order.
  const list = (!isPhone || session === null) && <SessionsRegion key="list" />;
  const page =
    control === null ? (
      session === null && <FirstPage key="page" />
    ) : (
      <SessionContext.Provider key="page" value={control}>
        <Session key={control.id} />
      </SessionContext.Provider>
    );
  // On a phone the field comes first, for the eye and for the keyboard.
  return <>{isPhone ? [page, list] : [list, page]}</>;
};

const StopLayer = ({ onClose }: { readonly onClose: () => void }) => {
  const { open } = useSession();
  return <StopQuestion runsTool={hasRunningCall(open.getSnapshot())} onClose={onClose} />;
};

/** Tells whether Esc leaves the message field first: while something is asked, whose keys hold outside of it, or nothing runs. */
const isFieldLeft = (transcript: Transcript | undefined): boolean =>
  document.activeElement?.id === "composer" &&
  (transcript?.session?.active_run == null || openAskOf(transcript) !== null);

const leave = (app: App): void => {
  const { session, context, thread } = app.route.get();
  if (context !== null) return app.go({ session, context: null, thread });
  if (thread !== undefined) return app.go({ session, context: null });
  if (app.panel.get() && matchMedia("(max-width: 1179px)").matches) return app.panel.set(false);
  const control = app.session.get();
  if (isFieldLeft(control?.open.getSnapshot())) document.getElementById("composer")?.blur();
  else if (control !== null) stopRun(app, control);
};

interface PageProps {
  readonly app: App;
  readonly announcements: Announcements;
  readonly layer: Store<Layer>;
}

export const Page = ({ app, announcements, layer }: PageProps) => {
  const control = useStore(app.session);
  const shown = useStore(layer);
  const [, setReady] = useState(false);
  // The layer that is closed may have opened another one.
  const close = (): void => layer.set((now) => (now === shown ? null : now));
  useEffect(() => {
    const press = (event: KeyboardEvent): void =>
      pressKey(event, {
        openPalette: () => layer.set("palette"),
        showKeys: () => app.show("keys"),
        startNew: () => app.go({ session: null, context: null }),
        leave: () => leave(app),
      });
    document.addEventListener("keydown", press);
    setReady(true);
    return () => document.removeEventListener("keydown", press);
  }, []);
  const { context, session } = useStore(app.route);
  const view = context !== null ? "shows-context" : session !== null ? "shows-session" : "shows-list";
  return (
    <AppContext.Provider value={app}>
      <a
        class="hidden skip"
        href="#conversation"
        onClick={(event) => {
          event.preventDefault();
          (document.getElementById("composer") ?? document.getElementById("conversation"))?.focus();
        }}
      >
        To the message field
      </a>
      <div class={`page ${view}`}>
        <Regions control={control} />
      </div>
      <Fault />
      <Voice sentences={announcements.polite} live="polite" />
      <Voice sentences={announcements.urgent} live="assertive" />
      {shown === "forget" && <ForgetDialog onClose={close} />}
      {shown === "keys" && <KeysDialog onClose={close} />}
      {shown === "permissions" && <GrantsDialog onClose={close} />}
      {shown === "palette" && <Palette onClose={close} />}
      {shown === "stop" && control !== null && (
        <SessionContext.Provider value={control}>
          <StopLayer onClose={close} />
        </SessionContext.Provider>
      )}
    </AppContext.Provider>
  );
};
