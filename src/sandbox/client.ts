import { createExec } from "./client-exec.ts";
import { SandboxError } from "./contract.ts";
import type { ClosedPath } from "./contract.ts";
import type {
  ChangeOutcome,
  ContentHits,
  FileStat,
  GitArguments,
  GitOperation,
  ListPart,
  LocalizedFile,
  Sandbox,
  SandboxCapabilities,
  SandboxSettings,
  SkillFiles,
  WriteOptions,
} from "./contract.ts";
import { workspacePath } from "./paths.ts";
import { createWire, dropBody, readJson, type Fetcher, type Wire, type WireMemory } from "./wire.ts";

export interface SandboxOptions {
  /** Calling thread: changes by others since it last saw a file are conflicts for it. */
  readonly actor?: string;
  /** Paths that its file calls may not touch; if there are any, links are not followed. */
  readonly closed?: readonly ClosedPath[];
  /** Milliseconds that a command gets beyond its own timeout; absent = 10 000. */
  readonly graceMs?: number;
  /** Settings sent before this client's first request; absent = the sandbox keeps its own. */
  readonly settings?: SandboxSettings;
  /** Skills placed after the settings, if the sandbox has others; called once. */
  readonly skills?: () => SkillFiles | null;
  /**
   * Prepares the sandbox after its settings and before any other request; a failure is repeated at the next
   * request.
   */
  readonly prepare?: (sandbox: Sandbox) => Promise<void>;
}

/** State that the views of one sandbox share. */
interface SandboxMemory extends WireMemory {
  /** Pending or finished sending of the settings; null before it and after it failed. */
  configured: Promise<void> | null;
}

export const fileRoute = (path: string): string =>
  `/file/workspace/${workspacePath(path).split("/").map(encodeURIComponent).join("/")}`;

export const postOf = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  method: "POST" as const,
  path,
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers },
});

const changeHeaders = (options: WriteOptions): Record<string, string> => ({
  "Idempotency-Key": options.key,
  ...(options.ifMatch === undefined ? {} : { "If-Match": `"${options.ifMatch}"` }),
});

async function readBytes(
  wire: Wire,
  path: string,
  range: Parameters<Sandbox["read"]>[1],
): Promise<Uint8Array> {
  const headers: Record<string, string> =
    range === undefined ? {} : { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` };
  const request = { method: "GET" as const, path: fileRoute(path), headers };
  return new Uint8Array(await wire.send(request, (response) => response.arrayBuffer()));
}

async function writeWholeFile(
  wire: Wire,
  path: string,
  content: Uint8Array | string,
  options: WriteOptions,
): Promise<ChangeOutcome> {
  const paths = options.writablePaths;
  const bound: Record<string, string> =
    paths === undefined ? {} : { "Sandbox-Writable-Paths": encodeURIComponent(JSON.stringify(paths)) };
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : Uint8Array.from(content);
  const headers = { ...changeHeaders(options), ...bound };
  const request = { method: "PUT" as const, path: fileRoute(path), body: bytes, headers };
  return wire.send({ ...request, signal: options.signal }, readJson<ChangeOutcome>);
}

/** Creates the client of one sandbox, with its own deadlines: a sandbox that never answers is an error. */
export const createSandbox = (fetcher: Fetcher, id: string, options: SandboxOptions = {}): Sandbox =>
  createView(fetcher, id, options, { instance: null, configured: null });

/** Places the skills. A sandbox without the folder or the space works without them: `load_skill` reads them, too. */
async function placeSkills(wire: Wire, skills: SkillFiles): Promise<void> {
  try {
    const { digest } = await wire.send(
      { method: "GET", path: "/skills" },
      readJson<{ digest: string | null }>,
    );
    if (digest !== skills.digest)
      await wire.send({ method: "PUT", path: "/skills", body: JSON.stringify(skills) }, dropBody);
  } catch (error) {
    if (!(error instanceof SandboxError) || error.isUnavailable) throw error;
  }
}

async function configure(wire: Wire, settings: SandboxSettings, skills: SkillFiles | null): Promise<void> {
  await wire.send({ ...postOf("", settings), method: "PUT" }, dropBody);
  if (skills !== null) await placeSkills(wire, skills);
}

/** Wraps a wire so that the sandbox is configured first. */
const createConfiguredWire = (
  wire: Wire,
  memory: SandboxMemory,
  configureOnce: () => Promise<void>,
): Wire => ({
  ...wire,
  send: async (request, read) => {
    memory.configured ??= configureOnce().catch((error: unknown) => {
      memory.configured = null;
      throw error;
    });
    await memory.configured;
    return wire.send(request, read);
  },
});

/** Lists a folder's entries, or a part of them. */
export async function listFolder(
  wire: Wire,
  path: string,
  part: ListPart = {},
): Promise<readonly FileStat[]> {
  const request = postOf("/fs/list", { path, ...part });
  return (await wire.send(request, readJson<{ entries: readonly FileStat[] }>)).entries;
}

async function settleKey(wire: Wire, key: string): Promise<ChangeOutcome | null> {
  const request = postOf("/fs/settle", { key });
  return (await wire.send(request, readJson<{ outcome: ChangeOutcome | null }>)).outcome;
}

async function compareFiles(wire: Wire, a: string, b: string): Promise<string> {
  return (await wire.send(postOf("/fs/diff", { a, b }), readJson<{ diff: string }>)).diff;
}

async function askGit<O extends GitOperation>(
  wire: Wire,
  op: O,
  args: GitArguments[O],
  { signal, writablePaths }: Parameters<Sandbox["git"]>[2],
): Promise<string> {
  const body = { ...args, ...(op === "commit" ? { writable_paths: writablePaths } : {}) };
  const request = { ...postOf(`/git/${op}`, body), signal };
  return (await wire.send(request, readJson<{ output: string }>)).output;
}

/** Returns the wire of a view, over which the sandbox is configured first if its client has settings. */
function createViewWire(fetcher: Fetcher, id: string, options: SandboxOptions, memory: SandboxMemory): Wire {
  const bare = createWire(fetcher, id, options, memory);
  const { settings, skills = () => null, prepare } = options;
  if (settings === undefined) return bare;
  return createConfiguredWire(bare, memory, async () => {
    await configure(bare, settings, skills());
    await prepare?.(createView(fetcher, id, {}, memory));
  });
}

function createView(fetcher: Fetcher, id: string, options: SandboxOptions, memory: SandboxMemory): Sandbox {
  const wire = createViewWire(fetcher, id, options, memory);
  const capabilities = (): Promise<SandboxCapabilities> =>
    wire.send({ method: "GET", path: "/capabilities" }, readJson<SandboxCapabilities>);
  return {
    id,
    as: (actor) => createView(fetcher, id, { ...options, actor }, memory),
    closing: (closed) => createView(fetcher, id, { ...options, closed }, memory),
    closed: options.closed ?? [],
    directory: ".",
    capabilities,
    instance: async () => {
      if (wire.instance() === null) await capabilities();
      return wire.instance() ?? "";
    },
    ready: async () => {
      if (memory.configured === null) await capabilities();
      await memory.configured;
    },
    settle: (key) => settleKey(wire, key),
    ...createExec(wire, options.graceMs ?? 10_000),
    read: (path, range) => readBytes(wire, path, range),
    write: (path, content, change) => writeWholeFile(wire, path, content, change),
    stat: (path) => wire.send(postOf("/fs/stat", { path }), readJson<FileStat>),
    list: (path, part) => listFolder(wire, path, part),
    change: (op, args, change) => {
      const body = { ...args, writable_paths: change.writablePaths };
      const request = { ...postOf(`/fs/${op}`, body, changeHeaders(change)), signal: change.signal };
      return wire.send(request, readJson<ChangeOutcome>);
    },
    diff: (a, b) => compareFiles(wire, a, b),
    searchContent: (query) => wire.send(postOf("/search/content", query), readJson<ContentHits>),
    searchFiles: async (query) => {
      const request = postOf("/search/files", query);
      return (await wire.send(request, readJson<{ paths: readonly string[] }>)).paths;
    },
    localize: async (query) => {
      const request = postOf("/search/localize", query);
      return (await wire.send(request, readJson<{ files: readonly LocalizedFile[] }>)).files;
    },
    git: (op, args, call) => askGit(wire, op, args, call),
    destroy: async () => {
      await createWire(fetcher, id, options, memory).send({ method: "DELETE", path: "" }, dropBody);
      memory.configured = null;
    },
  };
}
