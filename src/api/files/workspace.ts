import * as z from "zod";
import { parseParams } from "../../session/define-operation.ts";
import type { OperationName } from "../../session/operations.ts";
import {
  cursorBindingOf,
  cursorSentence,
  pageOf,
  pageQueryFields,
  readCursor,
} from "../../session/paging.ts";
import { ProblemError, refuseField, workspaceProblem } from "../../session/problems.ts";
import type { FileChangeReport, SessionReply } from "../../session/rpc.ts";
import { jsonResponse, requireAccepted, toResponse } from "../answers.ts";
import { readPieces, refuseEncoding } from "../body.ts";
import type { RequestFields } from "../body.ts";
import { callSession, openSessionStub, readIdempotencyKey } from "../calls.ts";
import type { Router, SessionRequestContext } from "../context.ts";
import { limits } from "../limits.ts";
import { callWithRetry } from "../platform.ts";
import { readQuery, refuseQuery } from "../query.ts";

/**
 * Reads and writes the files of workspaces. The session admits the caller and prepares the workspace; the bytes
 * flow between router and sandbox, so that no slow client keeps a session awake. A change begins and ends with the
 * session, which reports it even if its request is lost.
 */

type Files = ReturnType<Router["workspace"]>;
type ChangeKey = Parameters<Files["unpack"]>[2];
type Outcome = NonNullable<FileChangeReport["outcome"]>;

const filesOf = ({ router, principal, session }: SessionRequestContext): Files =>
  router.workspace({ ...principal, id: session });

const refuseProblem = (thrown: unknown): never => {
  throw new ProblemError(workspaceProblem(thrown));
};

const orProblem = <T>(work: Promise<T>): Promise<T | ProblemError> =>
  work.catch((thrown: unknown) => new ProblemError(workspaceProblem(thrown)));

const readableSchema = z.object({ path: z.string(), exists: z.boolean() });

const refuseMissing = (path: string): never =>
  refuseField("not_found", "/path", `${path} does not exist in the workspace`);

export const readQuerySchema = z.strictObject({
  ...pageQueryFields,
  // A cursor names a file, whose name may be as long as a path.
  cursor: z.string().max(32_768).optional().describe(cursorSentence),
  format: z.literal("tar").optional().describe("Packs a folder into an archive."),
});

type ReadQuery = z.output<typeof readQuerySchema>;

/** Answers with a page of a folder; `list` reads its entries by name, or a part of them. */
async function folderResponse(
  list: (part: Parameters<Files["list"]>[1]) => ReturnType<Files["list"]>,
  path: string,
  { cursor, limit }: ReadQuery,
): Promise<Response> {
  const binding = cursorBindingOf(["workspace", path]);
  const position = readCursor(cursor, binding);
  // One more than fits shows whether there are more.
  const part = { limit: limit + 1 };
  const backwards = position?.direction === "prev";
  const entries =
    position === null
      ? await list(part)
      : await list(backwards ? { ...part, before: position.id } : { ...part, after: position.id });
  const rows = entries.map(({ name, type, size }) => ({ id: name, at: 0, type, size }));
  const read = backwards ? rows.toReversed() : rows;
  return jsonResponse(
    pageOf(read, { position, column: "at", limit, binding }, ({ id, type, size }) => ({
      name: id,
      type,
      size,
    })),
  );
}

/** Lists a folder; a path that leads through a file counts as missing. */
const listFolder = (context: SessionRequestContext, path: string, query: ReadQuery): Promise<Response> =>
  folderResponse(
    async (part) => {
      const entries = await orProblem(filesOf(context).list(path, part));
      if (!(entries instanceof ProblemError)) return entries;
      return entries.problem.code === "conflict" ? refuseMissing(path) : Promise.reject(entries);
    },
    path,
    query,
  );

/** Returns the range that a client asks for; ignores one with a condition, not in bytes, or that ends before it begins. */
const rangeOf = ({ headers }: Request): string | undefined => {
  const range = headers.get("Range") ?? "";
  const found = /^bytes=(?:(\d+)-(\d*)|-\d+)$/.exec(range);
  if (found === null || headers.has("If-Range")) return undefined;
  const [, first = "", last = ""] = found;
  return last !== "" && Number(last) < Number(first) ? undefined : range;
};

/** Passes a file on as bytes without a type, which no browser shows as a page. */
function fileResponse({ status, body, headers: from }: Response): Response {
  const headers = new Headers({
    "Content-Type": "application/octet-stream",
    "Content-Disposition": "attachment",
    "Accept-Ranges": "bytes",
  });
  for (const name of ["ETag", "Content-Range", "Content-Length"]) {
    const value = from.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(body, { status, headers });
}

const archiveResponse = ({ body }: { readonly body: Response["body"] | Uint8Array<ArrayBuffer> }): Response =>
  new Response(body, {
    headers: {
      "Content-Type": "application/x-tar",
      "Content-Disposition": 'attachment; filename="workspace.tar"',
    },
  });

/** Number of empty bytes at the end of an archive; an empty archive has no others. */
const endOfArchive = 1024;

const emptyFolder = async (query: ReadQuery): Promise<Response> =>
  query.format === "tar"
    ? archiveResponse({ body: new Uint8Array(endOfArchive) })
    : folderResponse(async () => [], ".", query);

/** Answers with an archive, the bytes of a file or the list of a folder. */
export const readWorkspace =
  (op: OperationName) =>
  async (context: SessionRequestContext): Promise<Response> => {
    const query = parseParams(readQuerySchema, readQuery(context.url.searchParams, {}));
    const { session: _, ...params } = context.path;
    const { path, exists } = readableSchema.parse(
      JSON.parse((await callSession(context, { op, params })).json),
    );
    if (!exists) return path === "." ? emptyFolder(query) : refuseMissing(path);
    if (query.format === "tar")
      return archiveResponse(await filesOf(context).pack(path).catch(refuseProblem));
    if (path === ".") return listFolder(context, path, query);
    const file = await orProblem(filesOf(context).open(path, rangeOf(context.request)));
    if (!(file instanceof ProblemError)) return fileResponse(file);
    return file.problem.code === "conflict" ? listFolder(context, path, query) : Promise.reject(file);
  };

/** Answer of a session to the beginning of a change. */
const begunSchema = z.union([
  z.object({ change: z.string(), path: z.string(), instance: z.string().optional() }),
  z.object({ digest: z.literal(true) }),
  z.object({ replay: z.object({ status: z.union([z.literal(200), z.literal(201)]), json: z.string() }) }),
]);

type Begun = z.output<typeof begunSchema>;

async function begin(
  context: SessionRequestContext,
  op: OperationName,
  params: RequestFields,
): Promise<Begun> {
  return begunSchema.parse(JSON.parse((await callSession(context, { op, params })).json));
}

/** Answers with the outcome of a change; the ETag is that of a written file. */
function changeResponse(reply: Extract<SessionReply, { ok: true }>): Response {
  const response = toResponse(reply);
  const { sha256 } = z.object({ sha256: z.string().optional() }).parse(JSON.parse(reply.json));
  if (sha256 !== undefined) response.headers.set("ETag", `"${sha256}"`);
  return response;
}

/** Makes a change that the session has begun, and reports the outcome to the session, or lets it find the outcome. */
async function finish(
  context: SessionRequestContext,
  begun: Begun,
  make: (path: string, change: ChangeKey) => Promise<Outcome>,
  digest: () => Promise<string | undefined> = async () => undefined,
): Promise<Response> {
  if ("replay" in begun) return changeResponse({ ok: true, ...begun.replay, seq: 0, replayed: true });
  if (!("change" in begun)) throw new Error("the session asked again for the digest of a change");
  const { change, path, instance } = begun;
  const outcome = await orProblem(make(path, { key: change, instance }));
  const sha256 = outcome instanceof ProblemError ? undefined : await digest();
  const report = {
    change,
    path,
    outcome: outcome instanceof ProblemError ? null : outcome,
    ...(sha256 === undefined ? {} : { sha256 }),
  };
  const reply = await callWithRetry(
    () => openSessionStub(context, context.session).reportFileChange(report),
    true,
  );
  if (outcome instanceof ProblemError) throw outcome;
  return changeResponse(requireAccepted(reply));
}

const changeOf = ({ path: { path }, request }: SessionRequestContext) => {
  const key = readIdempotencyKey(request, {});
  return { ...(path === undefined ? {} : { path }), ...(key === undefined ? {} : { key }) };
};

type FileBody = Parameters<Files["put"]>[1];

/** Returns a body as it arrives if it states its length, so that a part of it is never taken for the whole. */
async function fileBodyOf(request: Request, limit: number): Promise<FileBody> {
  const announced = request.headers.get("Content-Length");
  if (announced !== null && Number(announced) <= limit)
    return { content: request.body, size: Number(announced) };
  const { pieces, size } = await readPieces(request, limit);
  const left = pieces.values();
  const content = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
  return { content, size };
}

const preconditionsOf = ({ headers }: Request) => ({
  ifMatch: headers.get("If-Match") ?? undefined,
  ifNoneMatch: headers.get("If-None-Match") ?? undefined,
});

/** Returns bytes in lower-case hex. */
export const hexOf = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns the SHA-256 of a body in hex, holding one piece of the body at a time. */
const digestOf = async (content: FileBody["content"]): Promise<string> => {
  const digested = new crypto.DigestStream("SHA-256");
  await (new Response(content).body ?? new Blob([]).stream()).pipeTo(digested);
  return hexOf(await digested.digest);
};

/** Writes a file; if a write repeats an earlier one, its body is only read and compared. */
export async function putFile(
  context: SessionRequestContext,
  params: {
    readonly path?: string;
    readonly key?: string;
    readonly upload?: string;
    readonly sha256?: string;
  },
  body: FileBody,
): Promise<Response> {
  const first = await begin(context, "write_file", params);
  const begun =
    "digest" in first
      ? await begin(context, "write_file", { ...params, sha256: await digestOf(body.content) })
      : first;
  return finish(context, begun, (path, change) =>
    filesOf(context).put(path, body, { ...preconditionsOf(context.request), ...change }),
  );
}

/** Reads an unread body to its end; otherwise its sender would be cut off before the answer. */
const drain = async ({ body, bodyUsed }: Request): Promise<void> =>
  bodyUsed ? undefined : body?.pipeTo(new WritableStream());

/** Writes a whole file from the body. */
export async function writeFile(context: SessionRequestContext): Promise<Response> {
  const { request, url } = context;
  const body = await fileBodyOf(request, limits.workspace_file_bytes);
  try {
    refuseEncoding(request);
    refuseQuery(url.searchParams);
    return await putFile(context, changeOf(context), body);
  } finally {
    await drain(request);
  }
}

export const deleteQuery = z.strictObject({
  recursive: z.enum(["true", "false"]).default("false").describe("Deletes a folder with all its contents."),
});

/** Deletes a file or folder. */
export async function deleteFile(context: SessionRequestContext): Promise<Response> {
  const { request, url } = context;
  const query = parseParams(deleteQuery, readQuery(url.searchParams, {}));
  const recursive = query.recursive === "true";
  return finish(
    context,
    await begin(context, "delete_file", { ...changeOf(context), recursive }),
    (path, change) => filesOf(context).remove(path, { ...preconditionsOf(request), ...change, recursive }),
  );
}

/** Passes a body on and computes its digest meanwhile, with which a repetition under its key is compared. */
function digestBody(body: ReadableStream<Uint8Array>): {
  readonly content: ReadableStream<Uint8Array>;
  readonly digest: () => Promise<string>;
} {
  const digested = new crypto.DigestStream("SHA-256");
  const writer = digested.getWriter();
  const content = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        await writer.write(chunk);
        controller.enqueue(chunk);
      },
      flush: () => writer.close(),
    }),
  );
  return { content, digest: async () => hexOf(await digested.digest) };
}

/** Unpacks the body, a tar archive, into the workspace. */
export async function unpackArchive(context: SessionRequestContext): Promise<Response> {
  const { request, url } = context;
  try {
    refuseEncoding(request);
    const params = { ...readQuery(url.searchParams, {}), ...changeOf(context) };
    const first = await begin(context, "unpack", params);
    if ("digest" in first)
      return await finish(
        context,
        await begin(context, "unpack", { ...params, sha256: await digestOf(request.body) }),
        async () =>
          Promise.reject(new Error("the session did not know the archive that it asked to compare")),
      );
    const keyed = params.key === undefined || request.body === null ? null : digestBody(request.body);
    const content = keyed === null ? request.body : keyed.content;
    return await finish(
      context,
      first,
      (path, change) => filesOf(context).unpack(path, content, change),
      keyed?.digest,
    );
  } finally {
    await drain(request);
  }
}
