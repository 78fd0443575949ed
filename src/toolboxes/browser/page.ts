import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { ToolContext } from "../../tools/define-tool.ts";
import { textIn } from "./devtools.ts";
import type { Devtools } from "./devtools.ts";
import { BrowserFailure } from "./failure.ts";
import { attachFrames, followPage, withoutPeers } from "./page-events.ts";
import type { MayLoad, Progress } from "./page-events.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Page of a browser, while a call is connected to it. */
export interface AttachedPage {
  readonly target: string;
  /** Opens an address; the page stays where it is if that fails. */
  readonly open: (url: string) => Promise<void>;
  /** Runs a script in the page and returns its value. */
  readonly evaluate: (script: string) => Promise<Json>;
  readonly send: (method: string, params?: JsonObject) => Promise<JsonObject>;
  /** Sends a command that may have effects elsewhere: if the call fails afterwards, its effects are unknown. */
  readonly act: AttachedPage["send"];
  /** Waits until the page has loaded and makes no more requests, but only for a limited time. */
  readonly settle: () => Promise<void>;
  /** Opens here what the page wanted to open in a new window, which a session does not have. */
  readonly followWindow: () => Promise<void>;
  readonly progress: Readonly<Progress>;
}

/** Size of the window, like that of a small laptop. */
const viewport = { width: 1_280, height: 800, deviceScaleFactor: 1, mobile: false };

const quietMs = 300;
const longestSettleMs = 12_000;
const stepMs = 50;

/** Milliseconds reserved for reading the page when its deadline is near. */
const reserveMs = 4_000;

/** Longest part that is quoted of what a page threw. */
const longestThrown = 500;

const waitForQuiet = async (progress: Progress, { now, deadline, signal }: ToolContext): Promise<void> => {
  progress.at = now();
  const end = Math.min(now() + longestSettleMs, deadline - reserveMs);
  const isBusy = (): boolean =>
    progress.loading || progress.asking > 0 || now() < Math.max(progress.expected, progress.at + quietMs);
  while (isBusy() && now() < end && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
};

const valueOf = (answer: JsonObject): Json => {
  const thrown = fieldsOf(answer["exceptionDetails"]);
  const said = textIn(fieldsOf(thrown["exception"]), "description") || textIn(thrown, "text");
  if (said !== "")
    throw new BrowserFailure(
      "failed",
      `the page threw ${firstCharacters(said, longestThrown).split("\n")[0] ?? ""}`,
    );
  return fieldsOf(answer["result"])["value"] ?? null;
};

/** Attaches to a page, whose requests are made by the call's egress from then on. */
export const attachPage = async (
  devtools: Devtools,
  target: string,
  context: ToolContext,
  mayLoad: MayLoad,
): Promise<AttachedPage> => {
  const attached = await devtools.send("Target.attachToTarget", { targetId: target, flatten: true });
  const session = textIn(attached, "sessionId");
  const send: AttachedPage["send"] = (method, params = {}) => devtools.send(method, params, session);
  const { targetInfo } = await devtools.send("Target.getTargetInfo", { targetId: target });
  const url = textIn(fieldsOf(targetInfo), "url");
  // Between two calls a page is frozen: nothing monitors it, for instance when it opens frames with network access.
  await send("Page.setWebLifecycleState", { state: "active" });
  devtools.beforeEnd(() => void send("Page.setWebLifecycleState", { state: "frozen" }));
  const progress = followPage({ devtools, target, context, mayLoad, url });
  await send("Fetch.enable");
  await send("Page.enable");
  await send("Page.addScriptToEvaluateOnNewDocument", withoutPeers);
  await send("Target.setAutoAttach", attachFrames);
  await send("Emulation.setDeviceMetricsOverride", viewport);
  const settle = (): Promise<void> => waitForQuiet(progress, context);
  const go: AttachedPage["open"] = async (url) => {
    progress.refused = null;
    progress.problem = null;
    const { errorText, isDownload } = await send("Page.navigate", { url });
    if (progress.refused !== null) return;
    if (isDownload === true)
      throw new BrowserFailure("unsupported", "the address is a download; http_fetch can read it");
    if (typeof errorText !== "string" || errorText === "") return;
    throw new BrowserFailure("unavailable", `the page could not be opened: ${progress.problem ?? errorText}`);
  };
  const open: AttachedPage["open"] = async (url) => {
    progress.chosen = url;
    await go(url).finally(() => void (progress.chosen = null));
  };
  return {
    target,
    open,
    send,
    act: (method, params) => {
      progress.hasActed = true;
      return send(method, params);
    },
    settle,
    evaluate: async (expression) =>
      valueOf(await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true })),
    followWindow: async () => {
      const { window, refused } = progress;
      progress.window = null;
      if (window === null || refused !== null || !/^https?:/.test(window)) return;
      await go(window);
      await settle();
    },
    progress,
  };
};
