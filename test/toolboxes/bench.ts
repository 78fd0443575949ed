import type { Json } from "../../src/chat/message.ts";
import { createSandbox } from "../../src/sandbox/client.ts";
import { viewFrom } from "../../src/sandbox/folder-view.ts";
import type { Sandbox } from "../../src/sandbox/contract.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { parseArguments } from "../../src/tools/arguments.ts";
import type { Parked, ToolContext, ToolOutput } from "../../src/tools/define-tool.ts";
import { createAttachments } from "../../src/driver/tool-context.ts";
import { noReach } from "../../src/tools/reach.ts";
import { createCoreToolbox, toolboxes } from "../../src/toolboxes/index.ts";
import { createLocalWorkspace, type LocalWorkspace } from "../sandbox/local.ts";

const skills = [{ name: "deploy", body: "Steps to deploy.", files: { "notes.md": "Mind the tide." } }];
const tools = [...toolboxes, createCoreToolbox({ skills, inWorkspace: false, remembers: true })].flatMap(
  (box) => box.tools,
);

export interface ToolBench {
  readonly workspace: LocalWorkspace;
  readonly sandbox: Sandbox;
  readonly shown: string[];
  readonly stored: Map<string, string>;
  readonly memos: Map<string, Json>;
  /** Calls a tool as dispatch does: arguments through its schema, then `run`. */
  readonly call: (
    name: string,
    args?: object,
    context?: Partial<ToolContext>,
  ) => Promise<ToolOutput | Parked>;
  /** The text of a result, with `ERROR ` before an error's. */
  readonly text: (name: string, args?: object, context?: Partial<ToolContext>) => Promise<string>;
}

/** Stores with nothing in them. */
const emptyStores: ToolContext["stores"] = {
  state: { get: () => null, keys: () => [] },
  tasks: { get: () => null, list: () => [] },
  notes: { read: async () => null, list: async () => [] },
  memory: { search: async () => null },
};

let keys = 0;

export function toolBench(wrap: (fetcher: Fetcher) => Fetcher = (fetcher) => fetcher): ToolBench {
  const workspace = createLocalWorkspace();
  const sandbox = createSandbox(wrap(workspace), "aaaa");
  const shown: string[] = [];
  const stored = new Map<string, string>();
  const memos = new Map<string, Json>();
  const contextFor = (given: Partial<ToolContext>): ToolContext => {
    const key = given.key ?? `run/${(keys += 1)}`;
    return {
      callId: key,
      key,
      attempt: 1,
      signal: new AbortController().signal,
      deadline: Date.now() + 60_000,
      now: () => Date.now(),
      agent: "agent",
      thread: "main",
      session: "session",
      commandTimeout: { default: 20, max: 30 },
      workingDir: ".",
      repository: ".",
      stores: emptyStores,
      ...noReach,
      sees: { images: true, documents: true },
      pause: async () => undefined,
      keep: createAttachments(key).keep,
      recall: (id) => stored.get(id) ?? null,
      server: null,
      memo: { get: () => memos.get(key) ?? null, set: (value) => void memos.set(key, value) },
      show: (text) => void shown.push(text),
      page: { get: () => null, set: () => undefined, lock: (work) => work() },
      judge: () => "allow",
      ...given,
      sandbox: viewFrom(given.sandbox ?? sandbox, given.workingDir ?? "."),
    };
  };
  const call: ToolBench["call"] = async (name, args = {}, context = {}) => {
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const parsed = parseArguments(tool, JSON.stringify(args));
    return parsed.ok ? tool.run(parsed.args, contextFor(context)) : parsed.error;
  };
  const text: ToolBench["text"] = async (name, args, context) => {
    const result = await call(name, args, context);
    if ("parked" in result) return `PARKED ${JSON.stringify(result.parked)}`;
    const content = typeof result.content === "string" ? result.content : JSON.stringify(result.content);
    return result.isError === true ? `ERROR ${content}` : content;
  };
  return { workspace, sandbox, shown, stored, memos, call, text };
}
