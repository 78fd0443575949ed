import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { ToolContext } from "../../tools/define-tool.ts";
import { textIn } from "./devtools.ts";
import type { Devtools, DevtoolsEvent } from "./devtools.ts";
import { createRequests, readRequest } from "./requests.ts";
import type { AnswerRequest } from "./requests.ts";

/** Follows a page while a call is connected to it, and makes its requests. */

/** Returns whether a page may make a request: `isMain` marks the document that a person would see as the page. */
export type MayLoad = (url: string, isMain: boolean) => boolean;

export interface Progress {
  loading: boolean;
  /** Time until which a navigation that the page has started is awaited; 0: none. */
  expected: number;
  /** Number of its requests under way. */
  asking: number;
  /** Time of the last activity. */
  at: number;
  /** Whether the call has clicked or typed something. */
  hasActed: boolean;
  /** Address to which the page was not permitted to go; it stayed. */
  refused: string | null;
  /** Newest address that the page wanted to open in another window. */
  window: string | null;
  /** Why its newest document could not be loaded. */
  problem: string | null;
  /** Status of its newest document; 0 before the first. */
  status: number;
  /** Address of its newest document, which makes its requests. */
  from: string;
  /** Address that a call is opening; null while the page navigates by itself. */
  chosen: string | null;
  /** Newest address from which a document was requested. */
  hop: string;
}

interface Parts {
  readonly devtools: Devtools;
  readonly answer: AnswerRequest;
  /** Id of the page, which is also that of its main frame. */
  readonly target: string;
  readonly mayLoad: MayLoad;
  readonly progress: Progress;
  readonly now: () => number;
}

const originOf = (url: string): string | undefined => URL.parse(url)?.origin;

/** Returns what led the page to a document: the redirect of another, the call that opens it, or the page itself. */
const sourceOf = ({ hop, chosen, from }: Progress, paused: JsonObject, url: string): string => {
  if (textIn(paused, "redirectedRequestId") !== "") return hop;
  return chosen !== null && originOf(chosen) === originOf(url) ? chosen : from;
};

const noteDocument = (progress: Progress, url: string, status: number): void => {
  progress.status = status;
  // A redirect shows nothing yet, and these two statuses leave the page where it is.
  const isSamePage = status === 204 || status === 205 || (status >= 300 && status < 400);
  if (!isSamePage) progress.from = url;
};

/** Makes a paused request, or fails it; a refused document is treated as if it had not been requested. */
const handleRequest = async (parts: Parts, { params, session }: DevtoolsEvent): Promise<void> => {
  const { devtools, target, mayLoad, progress } = parts;
  const requestId = textIn(params, "requestId");
  const isMain = params["resourceType"] === "Document" && params["frameId"] === target;
  const fail = (errorReason: string) =>
    devtools.send("Fetch.failRequest", { requestId, errorReason: isMain ? "Aborted" : errorReason }, session);
  const request = readRequest(params);
  if (!mayLoad(request.url, isMain)) {
    if (isMain) progress.refused = request.url;
    await fail("BlockedByClient");
    return;
  }
  const from = isMain ? sourceOf(progress, params, request.url) : progress.from;
  if (isMain) progress.hop = request.url;
  const answer = await parts.answer(request, from);
  if (isMain && answer.ok) noteDocument(progress, request.url, answer.status);
  if (isMain && !answer.ok) progress.problem = answer.problem;
  if (answer.ok) await devtools.send("Fetch.fulfillRequest", { requestId, ...answer.fields }, session);
  else await fail(answer.denied ? "BlockedByClient" : "Failed");
};

const makeRequest = async (parts: Parts, event: DevtoolsEvent): Promise<void> => {
  const { progress } = parts;
  progress.asking += 1;
  // An answer that arrives after the page is gone is dropped.
  await handleRequest(parts, event).catch(() => undefined);
  progress.asking -= 1;
};

/** Script that removes connections between browsers, which bypass both the proxy and the egress. */
export const withoutPeers: JsonObject = {
  source: `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) delete globalThis[name];`,
  runImmediately: true,
};

/** Parameters to attach to the frames of other sites, which are parts of the browser with requests of their own. */
export const attachFrames: JsonObject = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: "iframe" }],
};

/** Includes the frame of another site; one that cannot be included stays as it is, without any network. */
const includeFrame = async ({ devtools }: Parts, { params }: DevtoolsEvent): Promise<void> => {
  if (fieldsOf(params["targetInfo"])["type"] !== "iframe") return;
  const session = textIn(params, "sessionId");
  await devtools.send("Page.enable", {}, session);
  await devtools.send("Page.addScriptToEvaluateOnNewDocument", withoutPeers, session);
  await devtools.send("Fetch.enable", {}, session);
  await devtools.send("Target.setAutoAttach", attachFrames, session);
  await devtools.send("Runtime.runIfWaitingForDebugger", {}, session);
};

/** Closes a dialog, with which a script could block the page; it accepts only leaving the page. */
const closeDialog = async ({ devtools }: Parts, { params, session }: DevtoolsEvent): Promise<void> => {
  const accept = params["type"] === "beforeunload";
  await devtools.send("Page.handleJavaScriptDialog", { accept }, session);
};

const noteLoading = ({ progress, target }: Parts, { method, params }: DevtoolsEvent): void => {
  if (params["frameId"] !== target) return;
  progress.loading = method === "Page.frameStartedLoading";
  progress.expected = 0;
};

/** Milliseconds within which a slow browser begins to load after the page has requested it. */
const navigationStartMs = 2_000;

const noteNavigation = ({ progress, target, now }: Parts, { params }: DevtoolsEvent): void => {
  if (params["frameId"] === target) progress.expected = now() + navigationStartMs;
};

const followEvent = async (parts: Parts, event: DevtoolsEvent): Promise<void> => {
  switch (event.method) {
    case "Fetch.requestPaused":
      return makeRequest(parts, event);
    case "Target.attachedToTarget":
      return includeFrame(parts, event);
    case "Page.javascriptDialogOpening":
      return closeDialog(parts, event);
    case "Page.windowOpen":
      parts.progress.window = textIn(event.params, "url");
      return;
    case "Page.frameRequestedNavigation":
      return noteNavigation(parts, event);
    case "Page.frameStartedLoading":
    case "Page.frameStoppedLoading":
    case "Page.navigatedWithinDocument":
      noteLoading(parts, event);
  }
};

const followed = new Set([
  "Fetch.requestPaused",
  "Page.windowOpen",
  "Page.frameStartedLoading",
  "Page.frameStoppedLoading",
]);

interface FollowedPage extends Pick<Parts, "devtools" | "target" | "mayLoad"> {
  readonly context: ToolContext;
  /** Address of its document. */
  readonly url: string;
}

/** Follows a page until its connection ends. */
export const followPage = ({ context, url, ...page }: FollowedPage): Progress => {
  const { devtools } = page;
  const progress: Progress = {
    loading: false,
    expected: 0,
    asking: 0,
    at: context.now(),
    hasActed: false,
    refused: null,
    window: null,
    problem: null,
    status: 0,
    from: url,
    chosen: null,
    hop: url,
  };
  const parts: Parts = {
    ...page,
    progress,
    now: context.now,
    answer: createRequests(context, devtools.ended),
  };
  const touch = (): void => void (progress.at = context.now());
  devtools.listen((event) => {
    if (followed.has(event.method)) touch();
    void followEvent(parts, event)
      .catch(() => undefined)
      .finally(touch);
  });
  return progress;
};
