import { depthOf } from "../chat/json-depth.ts";
import { refuse } from "../agent/problem.ts";
import { limits } from "./limits.ts";

/** Request bodies (AP-8): counted while they are read, bounded in depth, well-formed, one JSON object. */

export type Fields = Readonly<Record<string, unknown>>;

const tooLarge = (limit: number): never =>
  refuse("payload_too_large", `The body is larger than ${limit} bytes: send less, or several messages.`, {
    meta: { limit },
  });

function checkType(request: Request): void {
  const type = request.headers.get("Content-Type") ?? "";
  const encoding = request.headers.get("Content-Encoding") ?? "identity";
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type)) {
    refuse("unsupported_media_type", "Send the body as Content-Type: application/json.");
  }
  if (encoding !== "identity") {
    refuse("unsupported_media_type", "Send the body without Content-Encoding.");
  }
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get("Content-Length") ?? 0) > limit) tooLarge(limit);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > limit) tooLarge(limit);
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return refuse("invalid_json", "The body is not UTF-8.");
  }
}

const escaped = (step: string): string => step.replaceAll("~", "~0").replaceAll("/", "~1");

/** RFC 6901 pointer to the first string or key with half a surrogate pair. */
function malformedAt(value: unknown, pointer = ""): string | null {
  if (typeof value === "string") return value.isWellFormed() ? null : pointer;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return pointer;
    const found = malformedAt(inner, `${pointer}/${escaped(key)}`);
    if (found !== null) return found;
  }
  return null;
}

function parse(text: string): unknown {
  if (depthOf(text) > limits.json_depth) {
    refuse("invalid_json", `The body nests deeper than ${limits.json_depth} levels.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return refuse("invalid_json", "The body is not JSON.");
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a value of unknown origin; what is no object has none. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The fields of a JSON body; an absent body has none. */
export async function readBody(request: Request, limit: number): Promise<Fields> {
  const bytes = await readBytes(request, limit);
  if (bytes.byteLength === 0) return {};
  checkType(request);
  const text = decode(bytes);
  const value = parse(text);
  if (!isFields(value)) {
    return refuse("invalid_request", "The body must be a JSON object.", {
      errors: [{ pointer: "", code: "invalid_type", message: "Send an object." }],
    });
  }
  const malformed = /\\u[dD][89a-fA-F]/.test(text) ? malformedAt(value) : null;
  if (malformed === null) return value;
  return refuse("invalid_request", `${malformed}: a text holds half a surrogate pair.`, {
    errors: [{ pointer: malformed, code: "invalid_string", message: "Send well-formed Unicode." }],
  });
}
