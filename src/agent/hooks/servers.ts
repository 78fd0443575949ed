import { pauseAfter } from "../state/ask.ts";
import type { ServerReport } from "../../tools/define-tool.ts";
import { firstCharacters } from "../../chat/text.ts";
import { fieldsOf, ownEntry } from "../../chat/json.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import type { Agent } from "../definition/agent.ts";
import type { DataOf } from "../state/events.ts";
import type { ServerLink, ServerTool, Session } from "../state/session.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, selectThread } from "../transaction/draft.ts";
import type { Json } from "../../chat/message.ts";

/** Keeps what a session knows of its MCP servers. */

const longestError = 2_000;

/** Link to a server that was never asked. */
const newLink: ServerLink = {
  connection: null,
  earlier: [],
  listedAt: null,
  stale: false,
  failures: 0,
  retryAt: 0,
};

/** Time after which a list of tools is fetched again. */
const listKeepMs = 3_600_000;

/** The same for a list with a changed tool: the server may take the change back. */
const changedKeepMs = 300_000;

const firstPauseMs = 30_000;

const longestPauseMs = 600_000;

const hasQuarantined = (tools: readonly ServerTool[]): boolean =>
  tools.some(({ quarantined }) => quarantined !== undefined);

/** Returns whether a server's list has to be fetched before a run. */
const isListDue = (
  { listedAt, stale, failures, retryAt }: ServerLink,
  tools: readonly ServerTool[],
  now: number,
): boolean => {
  if (failures > 0) return now >= retryAt;
  const isChanged = tools.some(({ quarantined }) => (quarantined?.pinned ?? null) !== null);
  const keepMs = isChanged ? changedKeepMs : listKeepMs;
  return listedAt === null || stale || now >= listedAt + keepMs;
};

/** Returns the link after a failure: the server is not asked for a while, twice as long each time. */
const failedLink = (link: ServerLink, now: number): ServerLink => ({
  ...link,
  failures: link.failures + 1,
  retryAt: now + pauseAfter(link.failures, firstPauseMs, longestPauseMs),
});

/** Tool that differs from what was approved; `pinned` is null if nothing was. */
export interface ToolChange {
  readonly tool: string;
  readonly pinned: string | null;
  readonly found: string;
}

/** Tools of a server, or why it could not list them. */
export type ServerAnswer = {
  readonly server: string;
} & (
  | {
      readonly ok: true;
      readonly tools: readonly ServerTool[];
      /** Says of each tool that is not offered why. */
      readonly omitted: readonly string[];
      /** Tools that are quarantined. */
      readonly changes: readonly ToolChange[];
    }
  | {
      readonly ok: false;
      readonly state: "failed" | "auth_needed";
      readonly reason: string;
      /** Address at which a person signs in to reach the server. */
      readonly login?: string;
    }
);

/** What the session knows of reaching a server. */
export const serverLinkOf = ({ serverLinks }: Pick<Session, "serverLinks">, server: string): ServerLink =>
  ownEntry(serverLinks, server) ?? newLink;

const toolsOf = ({ serverTools }: Pick<Session, "serverTools">, server: string): readonly ServerTool[] =>
  ownEntry(serverTools ?? {}, server) ?? [];

type ServerUser = Pick<Agent, "servers" | "tools">;

type AgentFinder = (threadId: string) => ServerUser;

/** Returns whether an agent may use a server, be it only by the tools that its caller lends. */
const mayUse = ({ servers, tools }: ServerUser, server: string): boolean =>
  servers.some(({ name }) => name === server) ||
  [...tools.values()].some(({ toolbox }) => toolbox === server);

/** Returns whether another run may use the server: the tools that its model was shown stay as they are. */
const isInUse = (
  { threads }: Pick<Session, "threads">,
  threadId: string,
  server: string,
  find: AgentFinder,
): boolean =>
  Object.values(threads).some(({ id, run }) => id !== threadId && run !== null && mayUse(find(id), server));

/** Lists the connections to a server whose sessions may still be open. */
export const connectionsOf = ({ connection, earlier }: ServerLink): readonly Json[] =>
  [connection, ...earlier].filter((each) => each !== null);

/** Server that a run asks for its tools. */
export interface WantedServer {
  readonly name: string;
  /** Connections whose sessions the new list ends; none while other runs may use them. */
  readonly over: readonly Json[];
  /** List that is fetched again only if approvals of its tools have changed; null if it is in any case. */
  readonly kept: readonly ServerTool[] | null;
}

/** Lists the servers that a run asks for their tools before its first turn. */
export const wantedServers = (
  state: Pick<Session, "threads" | "serverLinks" | "serverTools">,
  threadId: string,
  find: AgentFinder,
  now: number,
): readonly WantedServer[] =>
  find(threadId).servers.flatMap(({ name, required }) => {
    const link = serverLinkOf(state, name);
    const inUse = isInUse(state, threadId, name, find);
    const isNeeded = link.failures > 0 ? required : link.listedAt === null;
    const kept = toolsOf(state, name);
    const isDue = isNeeded || (!inUse && isListDue(link, kept, now));
    // An approval since the list was fetched may change what is offered of it.
    const mayBeApproved = !inUse && link.failures === 0 && hasQuarantined(kept);
    if (!isDue && !mayBeApproved) return [];
    return [{ name, over: inUse ? [] : connectionsOf(link), kept: isDue ? null : kept }];
  });

const setLink = (draft: Draft, server: string, link: ServerLink): void => {
  draft.state.serverLinks = { ...draft.state.serverLinks, [server]: link };
};

/** Number of earlier connections that are kept: if more are left, their server has lost the oldest by itself. */
const mostEarlier = 50;

/** Returns what stands for the server's address in a connection. */
const placeOf = (connection: Json): unknown => fieldsOf(connection)["place"];

/**
 * Stores the connection of a handshake, before it is used; the sessions of those in `over` have ended. What was
 * listed at another address says nothing of this one.
 */
export const keepConnection = (
  draft: Draft,
  server: string,
  connection: Json,
  over: readonly Json[],
): void => {
  const link = serverLinkOf(draft.state, server);
  const gone = new Set([connection, ...over].map(canonicalJson));
  const earlier = connectionsOf(link).filter((each) => !gone.has(canonicalJson(each)));
  const isMoved = link.connection !== null && placeOf(link.connection) !== placeOf(connection);
  const stale = link.stale || isMoved;
  const kept = { ...link, connection, stale, earlier: earlier.slice(0, mostEarlier) };
  if (canonicalJson(kept) !== canonicalJson(link)) setLink(draft, server, kept);
};

const reportStatus = (draft: ThreadDraft, status: DataOf<"mcp_status">): void => {
  const { error } = status;
  const shown = error === undefined ? {} : { error: firstCharacters(error, longestError) };
  emit(draft, "mcp_status", { ...status, ...shown });
};

const isSameList = (before: readonly ServerTool[], after: readonly ServerTool[]): boolean =>
  canonicalJson(before) === canonicalJson(after);

/** Says which parts of a tool are others than before, for a person who has to approve it. */
const describeChange = (before: ServerTool, { description, schema, hints }: ServerTool): string => {
  const parts = [
    ...(description === before.description ? [] : ["its description"]),
    ...(canonicalJson(schema) === canonicalJson(before.schema) ? [] : ["its parameters"]),
    ...(canonicalJson(hints) === canonicalJson(before.hints) ? [] : ["its annotations"]),
  ];
  return parts.length === 0 ? "a part that is not shown to models changed" : `${parts.join(" and ")} changed`;
};

/** Returns the sentence about a tool that is quarantined; this session may have seen what was approved. */
const changeSentence = (
  { tool: name, pinned, found }: ToolChange,
  before: readonly ServerTool[],
  after: readonly ServerTool[],
): string => {
  const approved = before.find((tool) => tool.name === name && tool.hash === pinned);
  const offered = after.find((tool) => tool.name === name);
  const hashes = `approved ${pinned ?? "nothing"}, found ${found}`;
  return approved === undefined || offered === undefined
    ? `${name}: ${hashes}`
    : `${name}: ${describeChange(approved, offered)} (${hashes})`;
};

const reportList = (
  draft: ThreadDraft,
  before: readonly ServerTool[],
  { server, tools, omitted, changes }: Extract<ServerAnswer, { ok: true }>,
): void => {
  reportStatus(draft, {
    server,
    state: "connected",
    tools: tools.filter(({ quarantined }) => quarantined === undefined).map(({ name }) => name),
    ...(omitted.length === 0 ? {} : { error: omitted.join("; ") }),
  });
  if (changes.length === 0) return;
  const sentences = changes.map((change) => changeSentence(change, before, tools));
  reportStatus(draft, {
    server,
    state: "quarantined",
    tools: changes.map(({ tool }) => tool),
    error: `${sentences.join("; ")}; POST /v1/mcp/${server}/approve accepts what was found`,
  });
};

const applyList = (draft: ThreadDraft, answer: Extract<ServerAnswer, { ok: true }>): void => {
  const { server, tools } = answer;
  const link = serverLinkOf(draft.state, server);
  const before = toolsOf(draft.state, server);
  const isKnown = link.listedAt !== null;
  if (isKnown && isInUse(draft.state, draft.thread.id, server, (id) => agentOf(selectThread(draft, id)))) {
    const listChanged = !isSameList(before, tools);
    if (link.failures > 0) applyServerReport(draft, server, { listChanged, failure: null });
    return;
  }
  const { connection, earlier } = link;
  setLink(draft, server, { ...newLink, connection, earlier, listedAt: draft.context.now });
  const isSame = isKnown && isSameList(before, tools);
  if (!isSame) draft.state.serverTools = { ...draft.state.serverTools, [server]: tools };
  if (!isSame || link.failures > 0) reportList(draft, before, answer);
};

const applyFailure = (
  draft: ThreadDraft,
  { server, state, reason }: Pick<Extract<ServerAnswer, { ok: false }>, "server" | "state" | "reason">,
): void => {
  const link = serverLinkOf(draft.state, server);
  // Calls that were under way when the server failed say nothing new.
  if (draft.context.now < link.retryAt) return;
  setLink(draft, server, failedLink(link, draft.context.now));
  if (link.failures === 0) reportStatus(draft, { server, state, error: reason });
};

/** Reports that the server waits for a person to sign in. */
export const reportLogin = (draft: ThreadDraft, server: string): void =>
  reportStatus(draft, { server, state: "auth_needed", error: "a person must sign in first" });

/** Records that a person was asked to sign in and did not. */
export const declineLogin = (draft: Draft, server: string): void =>
  setLink(draft, server, { ...serverLinkOf(draft.state, server), declined: true });

/** Records that a person signed in: whoever learned before that a login is needed tries again instead of asking. */
export const recordSignIn = (draft: Draft, server: string): void =>
  setLink(draft, server, { ...serverLinkOf(draft.state, server), signedInAt: draft.context.now });

/** Returns whether a person signed in at a server after work began which then found that a login is needed. */
export const hasSignedInSince = (state: Session, server: string, startedAt: number): boolean =>
  (serverLinkOf(state, server).signedInAt ?? 0) > startedAt;

/** Applies the servers' answers; the run goes on without those that did not answer, unless it requires them. */
export const applyServerAnswers = (draft: ThreadDraft, answers: readonly ServerAnswer[]): void => {
  const { servers } = agentOf(draft);
  for (const answer of answers) {
    if (answer.ok) {
      applyList(draft, answer);
      continue;
    }
    applyFailure(draft, answer);
    const { server, reason } = answer;
    if (!servers.some(({ name, required }) => required && name === server)) continue;
    const error = `the MCP server ${server}, which this agent requires, cannot be used: ${reason}`;
    runOf(draft).stop ??= { reason: "mcp_error", error };
  }
};

/** Applies what a call has learned about its server. */
export const applyServerReport = (
  draft: ThreadDraft,
  server: string,
  { listChanged, failure }: ServerReport,
): void => {
  if (failure !== null) {
    applyFailure(draft, { server, state: "failed", reason: failure });
    return;
  }
  const link = serverLinkOf(draft.state, server);
  const stale = link.stale || listChanged;
  if (link.failures === 0 && link.stale === stale) return;
  setLink(draft, server, { ...link, stale, failures: 0, retryAt: 0 });
  if (link.failures > 0) reportStatus(draft, { server, state: "connected" });
};
