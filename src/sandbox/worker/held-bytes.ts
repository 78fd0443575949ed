import { SandboxError } from "../contract.ts";
import { joinBytes } from "./files/bytes.ts";

/** Bytes of bodies that the workspaces of an isolate hold together, since they share its memory. */
const mostBytes = 64 * 1024 * 1024;

/**
 * Milliseconds after which a body gives way to others if there is no room for them, so that who sends slowly holds up
 * nobody.
 */
const keptMs = 10_000;

interface Holder {
  readonly since: number;
  readonly giveWay: AbortController;
  bytes: number;
}

/** Whoever holds bytes, the first to begin first. */
const holders = new Set<Holder>();
let heldBytes = 0;

const release = (holder: Holder): void => {
  if (holders.delete(holder)) heldBytes -= holder.bytes;
};

const full = (): SandboxError =>
  new SandboxError("capacity_exceeded", "other files are being written; send it again");

/** Lets old holders give way, the oldest first, until there is room for some more bytes. */
function makeRoom(asking: Holder, count: number): void {
  for (const holder of holders) {
    if (heldBytes + count <= mostBytes || Date.now() - holder.since < keptMs) return;
    if (holder === asking) continue;
    holder.giveWay.abort(full());
    release(holder);
  }
}

function take(holder: Holder, count: number): void {
  makeRoom(holder, count);
  holder.giveWay.signal.throwIfAborted();
  if (heldBytes > holder.bytes && heldBytes + count > mostBytes) {
    release(holder);
    throw full();
  }
  holder.bytes += count;
  heldBytes += count;
}

/**
 * Does work that holds bytes: it takes room for them as they arrive, which is refused while others hold too many. Once
 * it is refused, or the signal is aborted, the work has to drop what it holds.
 */
export async function holdBytes<T>(
  work: (take: (count: number) => void, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const holder: Holder = { since: Date.now(), giveWay: new AbortController(), bytes: 0 };
  holders.add(holder);
  try {
    return await work((count) => take(holder, count), holder.giveWay.signal);
  } finally {
    release(holder);
  }
}

/**
 * Reads a whole body and does work with its bytes. A refused body is read to its end, too; otherwise its sender would
 * be cut off before the answer.
 */
export const holdBody = <T>(
  body: ReadableStream<Uint8Array> | null,
  work: (bytes: Uint8Array<ArrayBuffer>) => Promise<T>,
): Promise<T> =>
  holdBytes(async (take, signal) => {
    const pieces: Uint8Array[] = [];
    let refusal: unknown = null;
    const refuse = (why: unknown): void => {
      refusal ??= why;
      pieces.length = 0;
    };
    signal.addEventListener("abort", () => refuse(signal.reason));
    for await (const piece of body ?? []) {
      if (refusal !== null) continue;
      pieces.push(piece);
      try {
        take(piece.length);
      } catch (error) {
        refuse(error);
      }
    }
    if (refusal !== null) throw refusal;
    return work(joinBytes(pieces));
  });
