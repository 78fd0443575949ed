import { createSandbox } from "../../src/sandbox/client.ts";
import {
  SandboxError,
  type ExecEvent,
  type ExecRequest,
  type Sandbox,
  type SandboxErrorCode,
} from "../../src/sandbox/contract.ts";
import { base32 } from "../../src/sandbox/sha256.ts";
import { EventParser, type ServerEvent } from "../../src/sandbox/sse.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";

/** What the groups of the conformance suite share: a fresh sandbox per test, over the wire alone. */

/** Reaches a sandbox Worker that is served at `url`. */
export const connectTo = (url: string): Fetcher => ({
  fetch: (request) => fetch(request.url.replace("http://sandbox", url), request),
});

const freshId = (): string => base32(crypto.getRandomValues(new Uint8Array(20)));
export const never = new AbortController().signal;
let counter = 0;
export const freshKey = (): string => `key-${(counter += 1)}`;

export interface Bench {
  readonly id: string;
  readonly fetcher: Fetcher;
  readonly sandbox: Sandbox;
  readonly raw: (
    method: string,
    path: string,
    init?: { body?: BodyInit; headers?: Record<string, string> },
  ) => Promise<Response>;
  readonly run: (script: string, more?: Partial<ExecRequest>) => Promise<Outcome>;
  readonly text: (path: string) => Promise<string>;
  readonly put: (path: string, content: string | Uint8Array) => Promise<void>;
}

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
  readonly reason: string;
  readonly events: readonly ExecEvent[];
  readonly bytes: Uint8Array;
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(pieces.flatMap((piece) => [...piece]));

export function outcomeOf(events: readonly ExecEvent[]): Outcome {
  const pieces = (stream: "stdout" | "stderr"): Uint8Array =>
    joined(events.flatMap((event) => (event.type === stream ? [event.data] : [])));
  const exit = events.find((event) => event.type === "exit");
  const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return {
    stdout: decode(pieces("stdout")),
    stderr: decode(pieces("stderr")),
    bytes: pieces("stdout"),
    code: exit?.exitCode ?? NaN,
    reason: exit?.reason ?? "none",
    events,
  };
}

export const collect = async (events: AsyncIterable<ExecEvent>): Promise<Outcome> => {
  const all: ExecEvent[] = [];
  for await (const event of events) all.push(event);
  return outcomeOf(all);
};

export function bench(connect: () => Fetcher): Bench {
  const id = freshId();
  const fetcher = connect();
  const sandbox = createSandbox(fetcher, id);
  return {
    id,
    fetcher,
    sandbox,
    raw: (method, path, init = {}) =>
      fetcher.fetch(new Request(`http://sandbox/v1/sandbox/${id}${path}`, { method, ...init })),
    run: (script, more = {}) =>
      collect(
        sandbox.exec({ argv: ["sh", "-c", script], execId: freshKey(), timeoutMs: 20_000, ...more }, never),
      ),
    text: async (path) => new TextDecoder().decode(await sandbox.read(path)),
    put: async (path, content) => {
      await sandbox.write(path, content, { key: freshKey() });
    },
  };
}

/** The code of a refusal; "none" if there was none. */
export const codeOf = async (promise: Promise<unknown>): Promise<SandboxErrorCode | "none"> => {
  try {
    await promise;
    return "none";
  } catch (error) {
    if (error instanceof SandboxError) return error.code;
    throw error;
  }
};

/** Reads SSE frames of one connection, at most `most` of them, then cuts it. */
export async function frames(response: Response, most = Infinity): Promise<ServerEvent[]> {
  const parser = new EventParser();
  const found: ServerEvent[] = [];
  const reader = response.body?.getReader();
  if (reader === undefined) return found;
  while (found.length < most) {
    const { done, value } = await reader.read();
    if (done) break;
    found.push(...parser.push(value));
  }
  await reader.cancel();
  return found.slice(0, most);
}

/** Names of every path in the workspace, with the content of files. */
export async function everything(sandbox: Sandbox): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await sandbox.list(folder)) {
      if (entry.type === "directory") await visit(entry.path);
      else
        found[entry.path] = entry.type === "file" ? ((await sandbox.stat(entry.path)).sha256 ?? "") : "link";
    }
  };
  await visit(".");
  return found;
}
