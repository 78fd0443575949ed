import { findCall } from "../agent/calls/tool-calls.ts";
import { createThreadJudge } from "../agent/calls/grants.ts";
import type { Agent } from "../agent/definition/agent.ts";
import { keepConnection } from "../agent/hooks/servers.ts";
import type { Call } from "../agent/state/call.ts";
import { argsOf } from "../agent/state/call.ts";
import { callsOfRun } from "../agent/state/run.ts";
import type { Draft, DraftCall, StoredBlob } from "../agent/transaction/draft.ts";
import { viewFrom } from "../sandbox/folder-view.ts";
import type { ToolContext } from "../tools/define-tool.ts";
import { noReach } from "../tools/reach.ts";
import type { Host, LazyAbort, WorkContext } from "./host.ts";
import type { ContentPart } from "../chat/message.ts";
import { toBase64 } from "../sandbox/base64.ts";
import type { SharedNotes } from "../agent/definition/memory.ts";
import { memoryOwnerOf } from "../agent/memory/memories.ts";
import { findTask, taskView } from "../agent/state/board.ts";
import type { MemoryHit, StoreChange, Stores } from "../tools/stores.ts";
import { storeChange } from "../tools/stores.ts";

/** Measures the time of a tool call; waiting for a sandbox that is not ready yet does not count. */
export interface CallTime {
  /** Returns the deadline in milliseconds since the epoch. */
  readonly deadline: () => number;
  /** Waits for `ms`; rejects once the call ends. */
  readonly pause: (ms: number) => Promise<void>;
  readonly cancel: () => void;
}

/** Milliseconds of pauses that do not count. */
const mostPaused = 120_000;

export const createCallTime = (
  host: Pick<Host, "now" | "after">,
  ms: number,
  over: () => void,
  ending: LazyAbort,
): CallTime => {
  let deadline = host.now() + ms;
  let timer = host.after(ms, over);
  let left = mostPaused;
  const extend = (wait: number): void => {
    timer.cancel();
    deadline += Math.min(wait, left);
    left -= Math.min(wait, left);
    timer = host.after(deadline - host.now(), over);
  };
  return {
    deadline: () => deadline,
    cancel: () => timer.cancel(),
    pause: async (wait) => {
      if (ending.asked()) ending.signal().throwIfAborted();
      extend(wait);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const pausing = host.after(wait, resolve);
      ending.whenAsked(() => {
        pausing.cancel();
        reject(ending.signal().reason);
      });
      return promise;
    },
  };
};

const mostBytes = 5 * 1_048_576;

const mostBytesInAll = 20 * 1_048_576;

/** Bytes that a tool attaches: they are stored in the commit of the outcome that shows them, or not at all. */
export interface Attachments {
  readonly keep: ToolContext["keep"];
  /** Lists the attachments that a result shows; null means that it shows bytes which were never attached. */
  readonly shown: (content: string | readonly ContentPart[]) => readonly StoredBlob[] | null;
}

/** Creates the attachments of a call; `start` identifies one start of that call within its session. */
export const createAttachments = (start: string): Attachments => {
  const kept = new Map<string, string>();
  let size = 0;
  return {
    keep: (bytes) => {
      size += bytes.length;
      if (bytes.length > mostBytes) throw new Error(`more than ${mostBytes} bytes cannot be kept`);
      if (size > mostBytesInAll) throw new Error(`a call keeps at most ${mostBytesInAll} bytes`);
      const id = `m.${start}.${kept.size}`;
      kept.set(id, toBase64(bytes));
      return id;
    },
    shown: (content) => {
      if (typeof content === "string") return [];
      const ids = content.flatMap((part) => (part.type === "text" ? [] : (part.blob ?? [])));
      const blobs = ids.map((id) => ({ id, text: kept.get(id) ?? null }));
      return blobs.every((blob): blob is StoredBlob => blob.text !== null) ? blobs : null;
    },
  };
};

/** What a tool sees of the world while its call runs. */

/** One start of a call's tool. */
export interface ToolStart {
  readonly thread: string;
  readonly call: Call;
  readonly time: CallTime;
  readonly attachments: Attachments;
  readonly abort: LazyAbort;
  /** The call's server has not begun to answer its request. */
  waits: boolean;
  /** The call has its outcome: what the tool still does has no effect. */
  ended: boolean;
}

/** Returns the call if the state still says that this very start of it is running, otherwise null. */
export const findCurrentCall = (
  { state, context }: Draft,
  threadId: string,
  { call: { id }, attempts }: Call,
): DraftCall | null => {
  const now = findCall(state.threads[threadId]?.run ?? null, id);
  return now?.status === "running" && now.attempts === attempts && now.epoch === context.epoch ? now : null;
};

/** Returns what is stored about the MCP server of a call's tool; null if the tool belongs to no server. */
const serverOf = (host: Host, { tools }: Agent, start: ToolStart): ToolContext["server"] => {
  const { call } = start.call;
  const name = tools.get(call.name)?.toolbox ?? "";
  const link = host.read().serverLinks[name];
  if (link === undefined) return null;
  const { connection, retryAt } = link;
  return {
    connection,
    retryAt,
    authorize: host.servers.authorize(name),
    keep: (opened, over) => host.update((draft) => keepConnection(draft, name, opened, [over])),
    waits: (isWaiting) => {
      start.waits = isWaiting;
    },
  };
};

/** Lets a call see and change the page of the session's browser while the call is running. */
const createPage = (
  { host, browserLock }: WorkContext,
  { thread, call }: ToolStart,
): ToolContext["page"] => ({
  get: () => host.read().page,
  set: (page) =>
    host.update((draft) => {
      if (findCurrentCall(draft, thread, call) !== null) draft.state.page = host.redactor.value(page);
    }),
  lock: browserLock,
});

/** Lets a call read and write what is noted about it while the call is running. */
const createMemo = (host: Host, { thread, call }: ToolStart): ToolContext["memo"] => ({
  get: () => {
    const calls = callsOfRun(host.read().threads[thread]?.run ?? null);
    return calls.find((each) => each.call.id === call.call.id)?.memo ?? null;
  },
  set: (memo) =>
    host.update((draft) => {
      const current = findCurrentCall(draft, thread, call);
      if (current !== null) current.memo = host.redactor.value(memo);
    }),
});

/** Returns the verdict of rules and grants on a different call of the same kind. */
const createCallJudge =
  (host: Host, { thread, call }: ToolStart): ToolContext["judge"] =>
  ({ args, page }) => {
    const changed = { ...call.call, args: args === undefined ? argsOf(call) : JSON.stringify(args) };
    const facts = { grants: host.grants.known(), now: host.now() };
    const plan = createThreadJudge(host.read(), thread, host.agent(thread), facts)(changed, page);
    return plan.refusal === undefined ? plan.verdict : "deny";
  };

/** Shows a tool's output as it comes, without known secrets: a tail that may begin one waits for what follows. */
const createLiveOutput = (host: Host, start: ToolStart): ToolContext["show"] => {
  const { thread, call } = start;
  const redact = host.redactor.stream();
  const item = call.call.id;
  const attempt = call.attempts;
  let shown = "";
  return (piece) => {
    const data = start.ended ? "" : redact(piece);
    if (data === "") return;
    const off = shown.length;
    shown += data;
    host.itemGrew({ id: item, thread, kind: "tool_output", attempt, text: shown });
    host.show([{ type: "delta", kind: "tool_output_delta", thread, item, attempt, off, data }]);
  };
};

export const createToolContext = (work: WorkContext, start: ToolStart): ToolContext => {
  const { host } = work;
  const { thread, call, time } = start;
  const session = host.read();
  const agent = host.agent(thread);
  const writablePaths = agent.tools.get(call.call.name)?.writablePaths ?? agent.writablePaths;
  return {
    callId: call.call.id,
    key: `${session.threads[thread]?.run?.id}/${call.call.id}`,
    attempt: call.attempts,
    get signal() {
      return start.abort.signal();
    },
    get deadline() {
      return time.deadline();
    },
    now: () => host.now(),
    pause: time.pause,
    agent: agent.name,
    thread,
    session: session.id,
    get sandbox() {
      const { closed } = call.plan;
      const sandbox = viewFrom(host.sandbox(), agent.workingDir);
      return closed === undefined ? sandbox : sandbox.closing(closed);
    },
    ...(writablePaths === null ? {} : { writablePaths }),
    commandTimeout: agent.commandTimeout,
    workingDir: agent.workingDir,
    repository: agent.repository,
    stores: createStores(host, agent, start.abort),
    recall: (id) => host.recall(id),
    memo: createMemo(host, start),
    server: serverOf(host, agent, start),
    sees: agent.targets[0]?.media ?? { images: false, documents: false },
    keep: start.attachments.keep,
    show: createLiveOutput(host, start),
    page: createPage(work, start),
    judge: createCallJudge(host, start),
    ...noReach,
  };
};

/** Creates the shared stores as a tool sees them. */
const createStores = (host: Host, agent: Agent, abort: LazyAbort): Stores => {
  const { entries, storeRules } = host;
  const shared = host.notes(agent.name);
  const note = (name: string): string | null => {
    const value = entries.entry("notes", name)?.value;
    return typeof value === "string" ? value : null;
  };
  return {
    state: {
      get: (key) => entries.entry("state", key),
      keys: () => entries.heads("state").map(({ key }) => key),
    },
    tasks: {
      get: (id) => {
        const { tasks } = host.read();
        const task = findTask(tasks, id);
        return task && structuredClone(taskView(tasks, task, storeRules.onDependencyFailure));
      },
      list: () => {
        const { tasks } = host.read();
        return Object.values(tasks).map((task) =>
          structuredClone(taskView(tasks, task, storeRules.onDependencyFailure)),
        );
      },
    },
    notes: {
      read: async (name) => (shared === null ? note(name) : shared.read(name)),
      list: async () =>
        shared?.list() ?? entries.heads("notes").map(({ key, head }) => ({ name: key, first_line: head })),
    },
    memory: { search: (query, options) => searchMemory(host, agent, abort.signal(), query, options) },
  };
};

/** Finds what an agent remembers that fits a query; searches by words alone if vectors cannot be made. */
const searchMemory = async (
  host: Host,
  { name, memory }: Agent,
  signal: AbortSignal,
  ...[query, { limit, threshold }]: Parameters<Stores["memory"]["search"]>
): Promise<readonly MemoryHit[] | null> => {
  if (memory === null) return null;
  const text = host.redactor.text(query);
  const [vector = null] = await (host.embedder(name)?.embed([text], signal) ?? Promise.resolve([])).catch(
    () => [],
  );
  const session = host.read();
  const seen = { session: session.id, runs: [], told: [] };
  const found = await host.memory.recall(memoryOwnerOf(memory, session), {
    text,
    vector,
    limit,
    threshold,
    seen,
    beyond: 0,
  });
  return found.map(({ at, agent, text: said, tags, score }) => ({ at, agent, text: said, tags, score }));
};

/** Writes changed notes to the shared store before the outcome is stored. Returns why one was refused. */
export const writeSharedNotes = async (
  notes: SharedNotes,
  changes: readonly StoreChange[],
  key: string,
  ending: LazyAbort,
): Promise<string | null> => {
  for (const [at, given] of changes.entries()) {
    if (ending.asked()) return null;
    const change = storeChange.safeParse(given).data;
    if (change?.store !== "notes") continue;
    const problem = await notes.write({ name: change.name, content: change.content }, `${key}/${at}`);
    if (problem !== null) return problem;
  }
  return null;
};
