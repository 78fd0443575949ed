import { fieldsOf } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { limitTime, unlessAborted } from "../../sandbox/time-limit.ts";
import type { BrowserPage } from "../../tools/egress/browser-page.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import { toolError } from "../../tools/errors.ts";
import { acquireBrowser, closeBrowser, connectBrowser } from "./browsers.ts";
import { textIn } from "./devtools.ts";
import type { Devtools } from "./devtools.ts";
import { BrowserFailure } from "./failure.ts";
import { attachPage } from "./page.ts";
import type { AttachedPage } from "./page.ts";
import type { MayLoad } from "./page-events.ts";
import { requireArrival, shortAddress } from "./page-text.ts";

/** Connects a call to the page of its session, which is opened, or opened again, if needed. */

/**
 * Proxy that leads nowhere, so that every request fails that is not answered for the page: between two calls, from
 * workers, by other protocols. Requests to the machine itself go there, too.
 */
const noNetwork = { proxyServer: "http://nowhere.invalid:9", proxyBypassList: "<-loopback>" };

const blank = "about:blank";
const answerMs = 3_000;

interface Connected {
  readonly devtools: Devtools;
  readonly page: AttachedPage;
}

const isWebAddress = (url: unknown): url is string => typeof url === "string" && /^https?:/.test(url);

const originOf = (url: string | undefined): string => URL.parse(url ?? "")?.origin ?? "";

/** Rejects if work takes too long: a page whose script never ends does not answer at all. */
const withinReason = <T>(work: Promise<T>): Promise<T> =>
  limitTime(answerMs, undefined, (signal) => unlessAborted(work, signal));

/**
 * Opens a page in a context of its own: without network, downloads or anything of other pages. Unless the session
 * keeps the page, its context ends with the connection, whatever ends that.
 */
const createPage = async (devtools: Devtools, { page }: ToolContext): Promise<string> => {
  const browserContextId = textIn(
    await devtools.send("Target.createBrowserContext", noNetwork),
    "browserContextId",
  );
  let target = "";
  devtools.beforeEnd(() => {
    if (target === "" || page.get()?.target !== target)
      void devtools.send("Target.disposeBrowserContext", { browserContextId });
  });
  await devtools.send("Browser.setDownloadBehavior", { behavior: "deny", browserContextId });
  target = textIn(await devtools.send("Target.createTarget", { url: blank, browserContextId }), "targetId");
  return target;
};

/** Ends all pages of a browser that has none of the session any more, with all that they stored. */
const disposePages = async (devtools: Devtools): Promise<void> => {
  const { browserContextIds } = await devtools.send("Target.getBrowserContexts");
  const left = Array.isArray(browserContextIds) ? browserContextIds : [];
  await Promise.allSettled(
    left.map((browserContextId) => devtools.send("Target.disposeBrowserContext", { browserContextId })),
  );
};

/** Call that uses the browser; its connections end with its life. */
interface BrowserCall {
  readonly context: ToolContext;
  readonly life: AbortSignal;
}

/** Opens a browser for the session in place of one that cannot be reached; stores its id before using it. */
const openBrowser = async ({ context, life }: BrowserCall, url: string): Promise<Devtools> => {
  const { browser: reach, page } = context;
  const close = (id: string) => closeBrowser(reach, id).catch(() => undefined);
  const old = page.get();
  if (old !== null) await close(old.browser);
  const browser = await acquireBrowser(context, life);
  if (!life.aborted) page.set({ browser, target: "", url });
  if (page.get()?.browser !== browser) {
    await close(browser);
    throw new BrowserFailure("unavailable", "the call ended before its browser was open");
  }
  return reconnect({ context, life }, browser);
};

const reconnect = async ({ context, life }: BrowserCall, browser: string): Promise<Devtools> => {
  const devtools = await connectBrowser(context, browser, life);
  if (devtools === null) throw new BrowserFailure("unavailable", "the browser did not answer; try again");
  return devtools;
};

/** Connects to the stored page; if the page is gone or does not answer, to the browser alone, if possible. */
const connectStored = async (
  { browser, target }: BrowserPage,
  call: BrowserCall,
  mayLoad: MayLoad,
): Promise<Connected | Devtools | null> => {
  const devtools = await connectBrowser(call.context, browser, call.life);
  if (devtools === null || target === "") return devtools;
  try {
    const page = await withinReason(attachPage(devtools, target, call.context, mayLoad));
    await withinReason(page.evaluate("1"));
    return { devtools, page };
  } catch {
    // The browser responds, but its page is gone or stuck.
    devtools.close();
  }
  return reconnect(call, browser);
};

/** Closes windows that the page opened, which would not be visible. */
const closeWindows = async ({ devtools, page }: Connected): Promise<void> => {
  const { targetInfos } = await devtools.send("Target.getTargets");
  const windows = (Array.isArray(targetInfos) ? targetInfos : [])
    .map(fieldsOf)
    .filter(
      ({ type, openerId, targetId }) => type === "page" && openerId !== undefined && targetId !== page.target,
    );
  await Promise.all(windows.map(({ targetId = "" }) => devtools.send("Target.closeTarget", { targetId })));
};

const addressOf = async ({ devtools, page }: Connected, before: string): Promise<string> => {
  const { targetInfo } = await devtools.send("Target.getTargetInfo", { targetId: page.target });
  const { url } = fieldsOf(targetInfo);
  return isWebAddress(url) ? shortAddress(url) : before;
};

interface Use {
  /** Origin that the call was permitted for; other addresses are judged. */
  readonly origin: string;
  /** Returns the verdict on the call if it were about this address. */
  readonly judge: (url: string) => "allow" | "ask" | "deny";
  /** Whether the call is about the open page, which is opened again if it was lost. */
  readonly isOpen: boolean;
}

/** Fails if no page is open, or another than the one by which the call was judged. */
const requirePage = (context: ToolContext, { origin, judge }: Use): void => {
  const { url } = context.page.get() ?? {};
  if (!isWebAddress(url))
    throw new BrowserFailure("not_found", "no page is open; open one with browser_navigate");
  if (originOf(url) !== origin && judge(url) !== "allow")
    throw new BrowserFailure(
      "conflict",
      `another agent of the session opened ${url} meanwhile; look at it first`,
    );
};

const reopenedNote = (url: string): string =>
  `[The page was lost and has been opened again at ${url}; its logins and entered text are gone.]`;

type Opened = Connected & { readonly note: string | null };

const connectPage = async (call: BrowserCall, use: Use): Promise<Opened> => {
  const { context } = call;
  if (use.isOpen) requirePage(context, use);
  // There is no ask for the requests of a page, so only a rule that denies stops them.
  const mayLoad: MayLoad = (url, isMain) => {
    const verdict = use.judge(url);
    return isMain
      ? verdict === "allow" || (verdict === "ask" && originOf(url) === use.origin)
      : verdict !== "deny";
  };
  const stored = context.page.get();
  const found = stored === null ? null : await connectStored(stored, call, mayLoad);
  if (found !== null && "page" in found) return { ...found, note: null };
  const { url = blank } = stored ?? {};
  const devtools = found ?? (await openBrowser(call, url));
  if (found !== null) await disposePages(devtools);
  const target = await createPage(devtools, context);
  const opened = { devtools, page: await attachPage(devtools, target, context, mayLoad) };
  if (!use.isOpen) return { ...opened, note: null };
  await opened.page.open(url);
  await opened.page.settle();
  requireArrival(opened.page);
  return { ...opened, note: reopenedNote(url) };
};

const withNote = (output: ToolOutput, note: string | null): ToolOutput => {
  if (note === null) return output;
  const { content } = output;
  return {
    ...output,
    content: typeof content === "string" ? `${note}\n${content}` : [{ type: "text", text: note }, ...content],
  };
};

const errorOf = (error: unknown): ToolOutput => {
  if (error instanceof BrowserFailure) return toolError(error.code, error.message);
  if (error instanceof EgressError) throw error;
  return toolError("unavailable", "the browser did not answer; try again");
};

/** Returns whether the outcome of a click is known: the page was kept where it was. */
const isRefusal = (error: unknown): boolean =>
  error instanceof BrowserFailure && error.code === "not_permitted";

/**
 * Returns the output of a call that failed after it had clicked or typed, which may have taken effect, so that the
 * model does not simply repeat it.
 */
const unknownOutput = (error: unknown): ToolOutput => {
  const reason = error instanceof BrowserFailure ? error.message : "the browser stopped answering";
  const sentence = `${reason}. The click or the typed text may have taken effect: look at the page before repeating it.`;
  return { ...toolError("unknown", sentence), status: "unknown" };
};

/** Gives a call exclusive use of the browser; closes its connections when it ends, however it ends. */
const useBrowser = (
  context: ToolContext,
  work: (call: BrowserCall) => Promise<ToolOutput>,
): Promise<ToolOutput> =>
  context.page.lock(async () => {
    const own = new AbortController();
    try {
      return await work({ context, life: AbortSignal.any([context.signal, own.signal]) });
    } catch (error) {
      return errorOf(error);
    } finally {
      own.abort();
    }
  });

const usePage = (
  context: ToolContext,
  use: Use,
  work: (page: AttachedPage) => Promise<ToolOutput>,
): Promise<ToolOutput> =>
  useBrowser(context, async (call) => {
    const connected = await connectPage(call, use);
    const { page, note } = connected;
    try {
      const output = await work(page);
      await closeWindows(connected);
      const { browser = "", url = blank } = context.page.get() ?? {};
      context.page.set({ browser, target: page.target, url: await addressOf(connected, url) });
      return withNote(output, note);
    } catch (error) {
      if (page.progress.hasActed && !isRefusal(error)) return unknownOutput(error);
      throw error;
    }
  });

/** Uses the session's page to open an address that the call names. */
export const openPage = (
  context: ToolContext,
  url: string,
  argsFor: (url: string) => Json,
  work: (page: AttachedPage) => Promise<ToolOutput>,
): Promise<ToolOutput> => {
  const judge = (other: string) => context.judge({ args: argsFor(other) });
  return usePage(context, { origin: originOf(url), judge, isOpen: false }, work);
};

/** Uses the page that is open. */
export const useOpenPage = (
  context: ToolContext,
  work: (page: AttachedPage) => Promise<ToolOutput>,
): Promise<ToolOutput> => {
  const origin = originOf(context.page.get()?.url);
  return usePage(context, { origin, judge: (page) => context.judge({ page }), isOpen: true }, work);
};

/**
 * Opens an address that the team's file chose in a page that is closed afterwards; it may not lead to another
 * origin.
 */
export const openBriefly = (
  context: ToolContext,
  url: string,
  work: (page: AttachedPage) => Promise<ToolOutput>,
): Promise<ToolOutput> =>
  useBrowser(context, async (call) => {
    const stored = context.page.get();
    const found = stored === null ? null : await connectBrowser(context, stored.browser, call.life);
    const devtools = found ?? (await openBrowser(call, stored?.url ?? blank));
    const target = await createPage(devtools, context);
    const mayLoad: MayLoad = (other, isMain) => !isMain || originOf(other) === originOf(url);
    return work(await attachPage(devtools, target, context, mayLoad));
  });
