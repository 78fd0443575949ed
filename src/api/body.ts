import { isJsonObject } from "../chat/json.ts";
import { parseInput, refuseJson } from "../session/mistakes.ts";
import { refuse } from "../session/problems.ts";

/** Reads request bodies: each is limited in size and depth and holds one well-formed JSON object. */

export type RequestFields = Readonly<Record<string, unknown>>;

const refuseTooLarge = (limit: number): never =>
  refuse("payload_too_large", `The body is larger than ${limit} bytes: send less.`, {
    meta: { limit },
  });

/** Refuses a body in a content coding: nothing decodes it, and its bytes would be taken for the content. */
export function refuseEncoding({ headers }: Request): void {
  const encoding = headers.get("Content-Encoding") ?? "identity";
  if (encoding.toLowerCase() === "identity") return;
  refuse("unsupported_media_type", "Send the body without Content-Encoding.");
}

/** Refuses a body of another type, or in another charset than that of JSON; further parameters say nothing of it. */
function checkType(request: Request): void {
  const type = request.headers.get("Content-Type") ?? "";
  const [, charset = "utf-8"] = /;\s*charset="?([^";\s]*)/i.exec(type) ?? [];
  if (!/^application\/json\s*(;|$)/i.test(type) || charset.toLowerCase() !== "utf-8") {
    refuse("unsupported_media_type", "Send the body as Content-Type: application/json.");
  }
}

/** Bytes of a refused body that are read, up to what the platform accepts. */
const maxDrainedBytes = 100 * 1024 * 1024;

/** Bytes of bodies that the requests of an isolate hold together: it has 128 MB for all of them and their copies. */
const maxHeldBytes = 40 * 1024 * 1024;

/** Milliseconds for which a body keeps its room: then it gives way to others, so that who sends slowly holds up nobody. */
const keptMs = 10_000;

interface HeldBody {
  readonly since: number;
  bytes: number;
  /** Pieces that were read so far; null once the reader has them. */
  pieces: Uint8Array[] | null;
}

/** Bodies by request, the oldest first. The runtime ends a request whose client leaves without a word: none stays for that. */
const heldBodies = new Map<Request, HeldBody>();
let heldBytes = 0;

/** Releases the body of a request when nothing needs it any more. */
export const releaseBody = (request: Request): void => {
  heldBytes -= heldBodies.get(request)?.bytes ?? 0;
  heldBodies.delete(request);
};

/** Releases old bodies that were read, and others if there is no room for some more bytes; returns whether there is then. */
const makeRoom = (count: number): boolean => {
  for (const [request, { since, pieces }] of heldBodies) {
    if (Date.now() - since < keptMs) break;
    if (pieces === null || heldBytes + count > maxHeldBytes) releaseBody(request);
  }
  return heldBytes + count <= maxHeldBytes;
};

/** Keeps a piece of a body; without room the body is released, and the rest of it is not kept either. */
const keepPiece = (request: Request, piece: Uint8Array): void => {
  if (!makeRoom(piece.byteLength)) releaseBody(request);
  const body = heldBodies.get(request);
  if (body === undefined) return;
  heldBytes += piece.byteLength;
  body.bytes += piece.byteLength;
  body.pieces?.push(piece);
};

const refuseFull = (): never =>
  refuse("overloaded", "The bodies of other requests use all available memory. Send it again.", {
    retryAfterMs: 1_000,
  });

/** Yields the pieces of a body as they arrive. A client that breaks off is no fault of the server. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    refuse("invalid_request", "The body broke off. Send it again.");
  }
}

interface ReadPieces {
  readonly pieces: readonly Uint8Array[];
  readonly size: number;
}

/**
 * Reads a body in pieces. A refused body is read to its end; otherwise its sender would be cut off before the
 * answer.
 */
export async function readPieces(request: Request, limit: number): Promise<ReadPieces> {
  const announced = Number(request.headers.get("Content-Length") ?? 0);
  if (announced > maxDrainedBytes) refuseTooLarge(limit);
  heldBodies.set(request, { since: Date.now(), bytes: 0, pieces: [] });
  let size = 0;
  for await (const piece of piecesOf(request)) {
    size += piece.byteLength;
    if (size > maxDrainedBytes) refuseTooLarge(limit);
    if (size > limit) releaseBody(request);
    else keepPiece(request, piece);
  }
  if (size > limit) refuseTooLarge(limit);
  const body = heldBodies.get(request);
  const pieces = body?.pieces ?? null;
  if (body === undefined || pieces === null) return refuseFull();
  body.pieces = null;
  return { pieces, size };
}

/** Reads a body's bytes as a whole. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const { pieces, size } = await readPieces(request, limit);
  refuseEncoding(request);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}

/** Refuses bytes and reports where they stop being UTF-8. */
function refuseBytes(bytes: Uint8Array): never {
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  const written = new TextEncoder().encode(text);
  const differing = bytes.findIndex((byte, index) => byte !== written[index]);
  const before = new TextDecoder().decode(bytes.subarray(0, differing < 0 ? bytes.length : differing));
  return refuseJson("The body is not UTF-8", before, before.length);
}

function decodeBody(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return refuseBytes(bytes);
  }
}

const escapeStep = (step: string): string => step.replaceAll("~", "~0").replaceAll("/", "~1");

/** Returns the RFC 6901 pointer to the first string or key with half a surrogate pair. */
function findMalformed(value: unknown, pointer = ""): string | null {
  if (typeof value === "string") return value.isWellFormed() ? null : pointer;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return pointer;
    const found = findMalformed(inner, `${pointer}/${escapeStep(key)}`);
    if (found !== null) return found;
  }
  return null;
}

export const refuseEmptyBody = (): never =>
  refuseJson("The body is empty: send a JSON object; it ends", "", 0);

/** Reads the fields of a JSON body; returns null if there is no body. */
export async function readBody(request: Request, limit: number): Promise<RequestFields | null> {
  const bytes = await readBytes(request, limit);
  if (bytes.byteLength === 0) return null;
  checkType(request);
  const text = decodeBody(bytes);
  const value = parseInput(text, "body");
  if (!isJsonObject(value)) {
    return refuse("invalid_request", "The body must be a JSON object.", {
      errors: [{ pointer: "", code: "invalid_type", message: "Send an object." }],
    });
  }
  const malformed = /\\u[dD][89a-fA-F]/.test(text) ? findMalformed(value) : null;
  if (malformed === null) return value;
  return refuse("invalid_request", `${malformed}: a text holds half a surrogate pair.`, {
    errors: [{ pointer: malformed, code: "invalid_string", message: "Send well-formed Unicode." }],
  });
}
