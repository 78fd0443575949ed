import * as z from "zod";
import {
  abandonFileChange,
  beginFileChange,
  questionFileChange,
  settleFileChange,
} from "../../agent/stores/workspace-files.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import { headAfter } from "../../agent/transaction/draft.ts";
import { fieldsOf } from "../../chat/json.ts";
import type { Sandbox } from "../../sandbox/contract.ts";
import type { CommandAnswer, ReadContext, WriteContext } from "../define-operation.ts";
import {
  findKeptAnswer,
  okAnswer,
  requireSameBody,
  wellFormedText,
  defineRead,
  defineWrite,
} from "../define-operation.ts";
import { missingSession, refuse, refuseIfProblem, refuseField } from "../problems.ts";
import type { Problem } from "../problems.ts";
import type { FileChangeReport, PerformedReply, SessionReply } from "../rpc.ts";
import { base64Of, storeBlob, requireUploadSpace, uploadDataSchema } from "./uploads.ts";
import type { InitialFile } from "../../agent/state/files.ts";
import { SandboxError } from "../../sandbox/contract.ts";
import { workspacePath } from "../../sandbox/paths.ts";
import { isOfSkills, isProtected } from "../../sandbox/writable.ts";

/** Takes the files that a session begins with. They are stored at once and placed at the first use of the workspace. */

const fileSchema = z
  .strictObject({
    path: wellFormedText(4_096).min(1).describe("From the root of the workspace."),
    content: wellFormedText(8_388_608).optional().describe("Text."),
    data: z.string().max(8_388_608).optional().describe("Base64, or a data URL."),
  })
  .refine(({ content, data }) => (content === undefined) !== (data === undefined), {
    error: "give exactly one of content and data",
  });

/** Schema for the files of a creation; the limit of its body holds for all of them together. */
export const initialFilesSchema = z.array(fileSchema).max(100);

type GivenFile = z.output<typeof fileSchema>;

/** Returns a path of the workspace without detours; refuses one that leads out of it. */
const insidePath = (path: string, pointer: string): string => {
  try {
    return workspacePath(path);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return refuseField("invalid_request", pointer, error.message);
  }
};

/** Returns the path without detours; refuses one that no file can have. */
const writablePath = (path: string, pointer: string): string => {
  const found = insidePath(path, pointer);
  return found !== "." && !isProtected(found)
    ? found
    : refuseField("invalid_request", pointer, "no file may be written there; use another path");
};

/** Refuses a path that is there twice, or that is also a folder of another. */
const requireDistinct = (paths: readonly string[]): void => {
  const known = new Set(paths);
  for (const [index, path] of paths.entries()) {
    const folders = path.split("/").map((_, end, segments) => segments.slice(0, end).join("/"));
    const clash = paths.indexOf(path) < index ? path : folders.find((folder) => known.has(folder));
    if (clash !== undefined)
      refuseField("invalid_request", `/files/${index}/path`, `another file has the path ${clash}`);
  }
};

const storeFile = (
  draft: Draft,
  { content, data = "" }: GivenFile,
  index: number,
): Omit<InitialFile, "path"> =>
  content === undefined
    ? { blob: storeBlob(draft, data && base64Of(data, `/files/${index}/data`)), encoding: "base64" }
    : { blob: storeBlob(draft, content), encoding: "utf-8" };

/** Stores the files of a creation; from now on the session has a workspace. */
export const storeInitialFiles = (draft: Draft, files: readonly GivenFile[]): void => {
  if (files.length === 0) return;
  const paths = files.map((file, index) => writablePath(file.path, `/files/${index}/path`));
  requireDistinct(paths);
  draft.state.initialFiles = files.map((file, index) => ({
    path: paths[index] ?? "",
    ...storeFile(draft, file, index),
  }));
  draft.state.sandboxed = true;
};

/**
 * Defines what people do to the files of a workspace. The router reads and writes them in the sandbox itself;
 * the session names the place, and a change begins and ends with it.
 */

const pathField = wellFormedText(4_096).min(1).describe("From the root of the workspace.");

/** Answers with the path without detours, and whether it may exist; the skills of the team are for agents alone. */
const admitReader = ({ state, rules }: ReadContext, path: string): CommandAnswer => {
  refuseIfProblem(rules.workspaceProblem());
  const found = insidePath(path, "/path");
  return okAnswer({ path: found, exists: state.sandboxed && !isOfSkills(found) });
};

export const workspaceOperation = defineRead({
  name: "workspace",
  summary: "Lists the files and folders at the root of the session's workspace.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/workspace",
  params: z.strictObject({}),
  entersWorkspace: true,
  run: (context) => admitReader(context, "."),
});

export const readFileOperation = defineRead({
  name: "read_file",
  summary: "Reads a file of the workspace, whole or a range of its bytes, or lists a folder.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/workspace/:path{[^]+}",
  params: z.strictObject({ path: pathField }),
  entersWorkspace: true,
  run: (context, { path }) => admitReader(context, path),
});

/** Number of changes of one session that are under way at once. */
const mostChanges = 20;

/** `Idempotency-Key` of a change, which the router passes on since the answer comes after the change. */
const keyField = z.string().max(140).optional();

const digestField = z
  .string()
  .optional()
  .describe("SHA-256 of the body; asked for if the key was used before.");

const formatField = z.literal("tar", "use format=tar for an archive, or name a file in the path");

interface GivenChange {
  readonly op: string;
  readonly path: string;
  readonly key: string | undefined;
  /** What a repetition must have in common with the first request; null if the caller has not sent it yet. */
  readonly fingerprint: string | null;
  /** Base64 of the file, if it is to be kept with the session as well. */
  readonly upload?: string | undefined;
}

/**
 * Answers a repeated change under its key, or asks for what it must have in common with the first. If only
 * the sandbox confirmed the first change, the repetition may have any body.
 */
const replayChange = (
  { draft, archive }: WriteContext,
  answerKey: string,
  { fingerprint }: GivenChange,
): CommandAnswer | null => {
  const known = findKeptAnswer(archive, answerKey, draft.context.now);
  if (known === null) return null;
  if (fingerprint === null) return okAnswer({ digest: true });
  requireSameBody(known, fingerprint);
  return okAnswer({ replay: { status: known.status, json: known.json } });
};

/** Stores the intent of a change and answers with its path without detours and its id, under which the router makes it; a repetition gets the same. */
const beginChange = (context: WriteContext, given: GivenChange): CommandAnswer => {
  const { draft, rules } = context;
  refuseIfProblem(rules.workspaceProblem());
  const { op, key, fingerprint, upload = "" } = given;
  if (upload !== "") base64Of(upload, "/data");
  const path = op === "unpack" ? given.path : writablePath(given.path, "/path");
  // A file that is kept, too, has one answer under its key, wherever it is put.
  const place = given.upload === undefined ? [encodeURIComponent(path)] : [];
  const answerKey = key === undefined ? null : [op, ...place, key].join(" ");
  const replayed = answerKey === null ? null : replayChange(context, answerKey, given);
  if (replayed !== null) return replayed;
  const pending = draft.state.fileChanges;
  const same = pending.find((change) => answerKey !== null && change.answerKey === answerKey);
  if (same !== undefined) return okAnswer({ change: same.id, path });
  if (pending.length >= mostChanges)
    return refuse("rate_limited", `${mostChanges} changes of files are under way; send it again`, {
      retryAfterMs: 1_000,
    });
  if (given.upload !== undefined) requireUploadSpace(context);
  return okAnswer({ change: beginFileChange(draft, { path, answerKey, fingerprint }).id, path });
};

export const writeFileOperation = defineWrite({
  name: "write_file",
  summary: "Writes a whole file into the workspace, with its folders.",
  scopes: ["sessions:write"],
  method: "PUT",
  path: "/v1/sessions/:session/workspace/:path{[^]+}",
  params: z.strictObject({
    path: pathField,
    key: keyField,
    sha256: digestField,
    upload: uploadDataSchema.optional().describe("Base64 of the file, if the session is to keep it, too."),
  }),
  matches: "file",
  entersWorkspace: true,
  run: (context, { path, key, sha256 = null, upload }) =>
    beginChange(context, { op: "write_file", path, key, fingerprint: sha256, upload }),
});

export const unpackOperation = defineWrite({
  name: "unpack",
  summary: "Unpacks a tar archive into the workspace; entries before a refused one stay.",
  scopes: ["sessions:write"],
  method: "PUT",
  path: "/v1/sessions/:session/workspace",
  params: z.strictObject({ key: keyField, sha256: digestField, format: formatField }),
  entersWorkspace: true,
  run: (context, { key, sha256 = null }) =>
    beginChange(context, { op: "unpack", path: ".", key, fingerprint: sha256 }),
});

const nothingKnown: SessionReply = { ok: true, status: 204, json: "", seq: 0, replayed: false };

const deletedMeanwhile: SessionReply = { ok: false, problem: missingSession };

/** Refusal for a session that was deleted, or migrated to another revision, while its workspace was made ready. */
export const replacedMeanwhile: Problem = {
  code: "overloaded",
  detail: "The session changed while this began. Send the request again.",
  retryAfterMs: 1_000,
};

interface SessionUpdate {
  readonly update: <T>(change: (draft: Draft) => T) => T;
}

const begunSchema = z.object({ change: z.string() });

/** Abandons the change that an answer names, if it names one, since its caller does not get the answer. */
export const abandonChange = ({ update }: SessionUpdate, reply: SessionReply): void => {
  const begun = begunSchema.safeParse(reply.ok ? JSON.parse(reply.json) : null);
  if (begun.success) update((draft) => abandonFileChange(draft, begun.data.change));
};

/** Answers once the workspace is ready, with the sandbox's instance for which a change was begun. */
export const bindReply = async (
  reply: PerformedReply,
  sandbox: Pick<Sandbox, "ready" | "capabilities" | "instance">,
): Promise<SessionReply> => {
  const value: unknown = JSON.parse(reply.json);
  if (!begunSchema.safeParse(value).success) {
    await sandbox.ready();
    return reply;
  }
  // What is known of the instance may be outdated.
  await sandbox.capabilities();
  return { ...reply, json: JSON.stringify({ ...fieldsOf(value), instance: await sandbox.instance() }) };
};

/** Stores the outcome of a change and returns the answer to its caller. */
export const performFileChangeReport = (
  session: SessionUpdate | null,
  { change, path, sha256, outcome }: FileChangeReport,
): SessionReply =>
  session?.update((draft): SessionReply => {
    if (outcome === null) {
      questionFileChange(draft, change);
      return nothingKnown;
    }
    const answer = settleFileChange(draft, { id: change, path, fingerprint: sha256 ?? null }, outcome);
    return { ok: true, ...answer, seq: headAfter(draft), replayed: false };
  }) ?? deletedMeanwhile;

export const deleteFileOperation = defineWrite({
  name: "delete_file",
  summary: "Deletes a file or folder of the workspace.",
  scopes: ["sessions:write"],
  method: "DELETE",
  path: "/v1/sessions/:session/workspace/:path{[^]+}",
  params: z.strictObject({ path: pathField, key: keyField, recursive: z.boolean().default(false) }),
  matches: "file",
  entersWorkspace: true,
  run: (context, { path, key, recursive }) =>
    beginChange(context, { op: "delete_file", path, key, fingerprint: `recursive ${recursive}` }),
});
