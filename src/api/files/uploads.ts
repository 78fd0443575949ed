import * as z from "zod";
import { parseParams } from "../../session/define-operation.ts";
import { readUploadOperation, uploadOperation } from "../../session/operations/uploads.ts";
import { refuse, refuseField } from "../../session/problems.ts";
import { fromBase64, toBase64 } from "../../sandbox/base64.ts";
import { readBytes } from "../body.ts";
import { callSession, readIdempotencyKey, refuseIfMatch } from "../calls.ts";
import type { SessionRequestContext } from "../context.ts";
import { limits } from "../limits.ts";
import { readQuery, refuseParameter } from "../query.ts";
import { answerOperation } from "../route.ts";
import { hexOf, putFile } from "./workspace.ts";

/** Receives files that are kept with a session, as forms or as raw bodies, and returns them. */

export const fieldsSchema = z.strictObject({
  name: z.string().optional().describe("The name of the file; a form's file has its own."),
  path: z.string().optional().describe("The path at which the file is also put into the workspace."),
});

interface SentFile extends z.output<typeof fieldsSchema> {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes of a form besides those of its file. */
const formBytes = 64 * 1024;

/** Reads a form with one `file`, and `name` and `path` as texts. */
async function readForm(request: Request, type: string): Promise<SentFile> {
  const body = await readBytes(request, limits.upload_bytes + formBytes);
  const form = await new Response(body, { headers: { "Content-Type": type } })
    .formData()
    .catch(() => refuse("invalid_request", "The body is not multipart/form-data, as its Content-Type says."));
  const files = form.getAll("file");
  const [file] = files;
  if (files.length !== 1 || typeof file !== "object")
    return refuseField("invalid_request", "/file", "a form has one file of this name");
  const texts = [...form].filter(([name]) => name !== "file");
  const fields = parseParams(fieldsSchema, Object.fromEntries(texts));
  if (file.size > limits.upload_bytes)
    refuse("payload_too_large", `A file may have at most ${limits.upload_bytes} bytes.`, {
      meta: { limit: limits.upload_bytes },
    });
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, ...fields, type: file.type, bytes };
}

async function readFile({ request, url }: SessionRequestContext): Promise<SentFile> {
  const type = request.headers.get("Content-Type") ?? "";
  if (/^multipart\/form-data\s*(;|$)/i.test(type)) {
    const [named] = url.searchParams.keys();
    if (named !== undefined) refuseParameter(named, "is a field of the form, besides its file");
    return readForm(request, type);
  }
  const fields = parseParams(fieldsSchema, readQuery(url.searchParams, {}));
  return { ...fields, type, bytes: await readBytes(request, limits.upload_bytes) };
}

/** Media types of files that messages may refer to, by the ends of their names. */
const typesByEnd: Readonly<Record<string, string>> = {
  csv: "text/csv",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  webp: "image/webp",
};

/** Types that clients send of themselves where the sender names none. */
const unnamedTypes: readonly string[] = ["application/octet-stream", "application/x-www-form-urlencoded"];

/** Returns the media type of a file: as sent, or by its name if none was. */
const mediaTypeOf = (type: string, name = ""): string => {
  const bare = (type.split(";")[0] ?? "").trim().toLowerCase();
  if (/^[\w.+-]+\/[\w.+-]+$/.test(bare) && !unnamedTypes.includes(bare)) return bare;
  const [, end = ""] = /\.([a-z]+)$/i.exec(name) ?? [];
  return typesByEnd[end.toLowerCase()] ?? "application/octet-stream";
};

const digestOf = async (bytes: BufferSource): Promise<string> =>
  hexOf(await crypto.subtle.digest("SHA-256", bytes));

const headSchema = uploadOperation.params.pick({ name: true, media_type: true });

/**
 * Stores a file; with a path it is put into the workspace first, so that a refused path stores nothing. A file that
 * the session would not store is refused when the change of the workspace begins.
 */
export async function uploadFile(context: SessionRequestContext): Promise<Response> {
  refuseIfMatch(context.request);
  const { name, path, type, bytes } = await readFile(context);
  const key = readIdempotencyKey(context.request, {});
  const head = parseParams(headSchema, {
    ...(name === undefined ? {} : { name }),
    media_type: mediaTypeOf(type, name),
  });
  const data = toBase64(bytes);
  const digest = await digestOf(bytes);
  if (path !== undefined) {
    // A repetition under a key has to be the same file for the same path.
    const named = await digestOf(new TextEncoder().encode(`${path}\n${digest}`));
    const keyed = key === undefined ? {} : { key: `upload ${key}`, sha256: named };
    const params = { path, upload: data, ...keyed };
    await putFile(context, params, { content: bytes, size: bytes.length });
  }
  return answerOperation(context, uploadOperation, {
    ...head,
    data,
    size: bytes.length,
    sha256: digest,
  });
}

const bytesSchema = z.object({ data: z.string(), sha256: z.string(), media_type: z.string() });

/** Answers with the description of a stored file or, with `format=bytes`, with its bytes. */
export async function readUpload(context: SessionRequestContext): Promise<Response> {
  const query = readQuery(context.url.searchParams, {});
  if (query["format"] !== "bytes") return answerOperation(context, readUploadOperation, query);
  const params = { ...query, file: context.path["file"] };
  const { json } = await callSession(context, { op: "read_upload", params });
  const { data, sha256, media_type } = bytesSchema.parse(JSON.parse(json));
  const headers = { "Content-Type": media_type, "Content-Disposition": "attachment", ETag: `"${sha256}"` };
  return new Response(fromBase64(data), { headers });
}
