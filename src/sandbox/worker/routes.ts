import { Hono, type Context } from "hono";
import type * as z from "zod";
import { hexOf } from "../sha256.ts";
import { SandboxError, errorStatus, includesAct } from "../contract.ts";
import type { ChangeOperation, ClosedPath, FileAct, FileStat, GitOperation } from "../contract.ts";
import { createGlobMatcher } from "../glob.ts";
import { workspacePath } from "../paths.ts";
import type { ChangeContext } from "./files/changes.ts";
import { changeOperations, putContent } from "./files/changes.ts";
import { fail } from "./errors.ts";
import { isSameWorkspace } from "./files/database.ts";
import type { Disk, Entry } from "./files/files.ts";
import { listChildren, contentOf, hashOf, joinPath } from "./files/files.ts";
import { requireOpen, requireReadable } from "./files/locate.ts";
import { gitOperations } from "./git/operations.ts";
import { holdBody } from "./held-bytes.ts";
import { endKey, runOnce } from "./outcomes.ts";
import {
  contentBody,
  diffBody,
  execBody,
  filesBody,
  keyBody,
  listBody,
  localizeBody,
  parseBody,
  pathBody,
  closedList,
  pathList,
  settingsBody,
  skillsBody,
} from "./requests.ts";
import { localize } from "./search/localize.ts";
import { searchContent, searchFiles } from "./search/search.ts";
import { recordSeen } from "./files/seen.ts";
import { readPlacedDigest, placeSkills } from "./skills.ts";
import { follow } from "./shell/stream.ts";
import { packFolder, unpackFolder } from "./tar.ts";
import { textOf } from "./files/edit-text.ts";
import { unifiedDiff } from "./files/unified-diff.ts";
import type { Workspace } from "./workspace.ts";

const decoded = (value: string | undefined, name: string): string | undefined => {
  if (value === undefined) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return fail("invalid_request", `${name} is not percent-encoded`);
  }
};

const actorOf = (context: Context): string | undefined =>
  decoded(context.req.header("Sandbox-Actor"), "Sandbox-Actor")?.slice(0, 200);

function headerPaths<Entry>(
  context: Context,
  name: string,
  list: z.ZodType<readonly Entry[]>,
): readonly Entry[] | undefined {
  const text = decoded(context.req.header(name), name);
  if (text === undefined) return undefined;
  return parseBody(list, text);
}

/** Creates a test of whether an entry of the request closes a path to an act. */
const closing = (closed: ClosedPath): ((path: string, act: FileAct) => boolean) => {
  if (typeof closed === "string") return createGlobMatcher(closed);
  const matches = createGlobMatcher(closed.match);
  return (path, act) => includesAct(closed.act, act) && matches(path);
};

/** Returns the disk with the restrictions of a request. */
function openTo(context: Context, disk: Disk): Disk {
  const closed = headerPaths(context, "Sandbox-Closed-Paths", closedList)?.map(closing);
  return closed === undefined
    ? disk
    : { ...disk, isClosed: (path, act) => closed.some((closes) => closes(path, act)) };
}

const callerOf = (actor: string | undefined): string =>
  actor === undefined ? "a person" : `thread ${actor}`;

const changeContext = (context: Context, writablePaths: readonly string[] | undefined): ChangeContext => {
  const actor = actorOf(context);
  const writer = { name: callerOf(actor), actor, writablePaths, guarded: true };
  const ifMatch = context.req.header("If-Match");
  return { writer, preconditions: { ifMatch, ifNoneMatch: context.req.header("If-None-Match") } };
};

const keyOf = (context: Context): string | undefined => context.req.header("Idempotency-Key");

/** Returns the path after `/file/` or `/tar/`, without the mount. */
function filePath(context: Context): string {
  const { pathname } = new URL(context.req.url);
  const encoded = pathname.replace(/^.*?\/(?:file|tar)\/workspace\/?/, "");
  return workspacePath(decoded(encoded, "the path") ?? "");
}

function rangeOf(header: string, size: number): { start: number; end: number } {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? [];
  if (first === "" && last === "") return fail("range", `Range ${header} is not of the form bytes=a-b`);
  const start = first === "" ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  if (start < end) return { start, end };
  const message = `Range ${header} lies outside the ${size} bytes of the file`;
  throw new SandboxError("range", message, errorStatus.range, size);
}

function readFile(disk: Disk, context: Context): Response {
  const path = filePath(context);
  const { entry, path: physical } = requireReadable(disk, path);
  recordSeen(disk, actorOf(context), physical, entry);
  const headers = { "Content-Type": "application/octet-stream", ETag: `"${hashOf(disk, entry)}"` };
  const range = context.req.header("Range");
  if (range === undefined) return new Response(contentOf(disk, entry), { headers });
  const { start, end } = rangeOf(range, entry.size);
  return new Response(contentOf(disk, entry, start, end - start), {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${start}-${end - 1}/${entry.size}` },
  });
}

async function writeBytes(
  workspace: Workspace,
  context: Context,
  { path, bytes }: { readonly path: string; readonly bytes: Uint8Array<ArrayBuffer> },
): Promise<Response> {
  const disk = openTo(context, workspace.disk);
  const size = Number(context.req.header("Sandbox-Size") ?? bytes.length);
  if (bytes.length !== size)
    fail("invalid_request", `the body has ${bytes.length} bytes instead of ${size}; it was cut off`);
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const change = changeContext(context, headerPaths(context, "Sandbox-Writable-Paths", pathList));
  const content = { path, bytes, hash };
  const outcome = runOnce(disk, keyOf(context), `${path}\0${hash}`, () => putContent(disk, change, content));
  workspace.remember();
  return Response.json(outcome);
}

async function writeFile(workspace: Workspace, context: Context): Promise<Response> {
  const path = filePath(context);
  const announced = Number(context.req.header("Content-Length") ?? 0);
  const { file } = workspace.disk.limits();
  if (announced > file) {
    fail("payload_too_large", `${path} would have ${announced} bytes; a file may have at most ${file}`);
  }
  return holdBody(context.req.raw.body, (bytes) => writeBytes(workspace, context, { path, bytes }));
}

/** Refuses a change that began for an earlier workspace with this id, whose files were removed with its session. */
function requireInstance({ instance }: Workspace, context: Context): void {
  const begunFor = context.req.header("Sandbox-Instance");
  if (begunFor !== undefined && !isSameWorkspace(begunFor, instance()))
    fail("capacity_exceeded", "the workspace has been replaced since the change began; send it again");
}

async function unpack(workspace: Workspace, context: Context): Promise<Response> {
  const disk = openTo(context, workspace.disk);
  const change = changeContext(context, headerPaths(context, "Sandbox-Writable-Paths", pathList));
  const { body } = context.req.raw;
  const archive = { path: filePath(context), key: keyOf(context), body };
  const outcome = await unpackFolder(disk, change, archive);
  workspace.remember();
  return Response.json(outcome);
}

const packed = (body: ReadableStream<Uint8Array>): Response =>
  new Response(body, { headers: { "Content-Type": "application/x-tar" } });

const statOf = (path: string, entry: Entry): FileStat => ({
  name: entry.name,
  path,
  type: entry.type,
  size: entry.size,
  mode: entry.mode,
  modTime: entry.mtime,
});

/** Answers with the outcome of a key's change; a change not made by now is no longer made. */
function settle(workspace: Workspace, body: string): Response {
  const outcome = endKey(workspace.disk, parseBody(keyBody, body).key);
  workspace.remember();
  return Response.json({ outcome });
}

const isChange = (op: string): op is ChangeOperation => Object.hasOwn(changeOperations, op);

function change(workspace: Workspace, context: Context, op: ChangeOperation, body: string): Response {
  const disk = openTo(context, workspace.disk);
  const { writablePaths, perform } = changeOperations[op](body);
  const asked = changeContext(context, writablePaths);
  const outcome = runOnce(disk, keyOf(context), `${op}\0${body}`, () => perform(disk, asked));
  workspace.remember();
  return Response.json(outcome);
}

function look(disk: Disk, op: string, body: string): Response {
  if (op === "diff") {
    const { a, b } = parseBody(diffBody, body);
    const read = (raw: string): string => {
      const path = workspacePath(raw);
      return textOf(path, contentOf(disk, requireReadable(disk, path).entry));
    };
    return Response.json({ diff: unifiedDiff(a, b, read(a), read(b)) || "files are identical" });
  }
  const known = [...Object.keys(changeOperations), "stat", "list", "diff", "settle"];
  if (op !== "stat" && op !== "list")
    fail("unsupported", `fs/${op} is not an operation; there are ${known.join(", ")}`);
  if (op === "list") return list(disk, body);
  const { path, entry } = requireOpen(disk, workspacePath(parseBody(pathBody, body).path));
  const hash = entry.type === "file" ? { sha256: hashOf(disk, entry) } : {};
  return Response.json({ ...statOf(path, entry), ...hash });
}

function list(disk: Disk, body: string): Response {
  const { path: asked, limit, ...part } = parseBody(listBody, body);
  const { path, entry } = requireOpen(disk, workspacePath(asked));
  if (entry.type !== "directory") fail("conflict", `${path} is a file, not a folder`);
  const open = listChildren(disk, entry.id, part)
    .map((item) => statOf(joinPath(path, item.name), item))
    .filter((item) => disk.isClosed?.(item.path, "read") !== true);
  return Response.json({ entries: part.before === undefined ? open.slice(0, limit) : open.slice(-limit) });
}

async function fileOperation(workspace: Workspace, context: Context): Promise<Response> {
  const op = context.req.param("op") ?? "";
  const body = await context.req.text();
  if (op === "settle") return settle(workspace, body);
  return isChange(op)
    ? change(workspace, context, op, body)
    : look(openTo(context, workspace.disk), op, body);
}

async function search(disk: Disk, context: Context): Promise<Response> {
  const body = await context.req.text();
  const op = context.req.param("op");
  if (op === "content") return Response.json(await searchContent(disk, parseBody(contentBody, body)));
  if (op === "files") return Response.json({ paths: await searchFiles(disk, parseBody(filesBody, body)) });
  if (op === "localize") return Response.json({ files: await localize(disk, parseBody(localizeBody, body)) });
  return fail("unsupported", "there are search/content, search/files and search/localize");
}

const eventStream = (body: ReadableStream<Uint8Array>): Response =>
  new Response(body, { headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store" } });

async function exec(workspace: Workspace, context: Context): Promise<Response> {
  const text = await context.req.text();
  const { exec_id, timeout_ms, writable_paths, ...body } = parseBody(execBody, text);
  const execId = exec_id ?? crypto.randomUUID();
  const command = body.argv.join(" ").slice(0, 80);
  const caller = callerOf(actorOf(context));
  workspace.commands.start({
    ...body,
    execId,
    cwd: workspacePath(body.cwd),
    timeoutMs: timeout_ms,
    env: { ...workspace.settings().env, ...body.env },
    writer: {
      name: `a command of ${caller} (${command})`,
      writablePaths: writable_paths,
      guarded: false,
    },
    body: text,
  });
  workspace.remember();
  return eventStream(follow(workspace.commands, { execId, after: 0, toEnd: true }));
}

function attach(workspace: Workspace, context: Context): Response {
  const execId = context.req.param("exec_id") ?? "";
  const reader = context.req.query("reader");
  if (reader !== undefined) {
    const from = workspace.commands.position(execId, reader);
    return eventStream(follow(workspace.commands, { execId, after: from, toEnd: false }));
  }
  const after = context.req.query("after") ?? "0";
  if (!/^\d{1,12}$/.test(after)) fail("invalid_request", "after is not a whole number");
  return eventStream(follow(workspace.commands, { execId, after: Number(after), toEnd: true }));
}

async function configure(workspace: Workspace, context: Context): Promise<Response> {
  const settings = parseBody(settingsBody, await context.req.text());
  if ((settings.egress ?? []).length > 0)
    fail("unsupported", "egress: commands of this driver reach no network");
  if ((settings.credentials ?? []).length > 0)
    fail("unsupported", "credentials: this driver sends no requests");
  workspace.configure(settings);
  return new Response(null, { status: 204 });
}

const isGitOperation = (op: string): op is GitOperation => Object.hasOwn(gitOperations, op);

async function git(workspace: Workspace, context: Context): Promise<Response> {
  const op = context.req.param("op") ?? "";
  if (!isGitOperation(op))
    return fail("unsupported", `there are git/${Object.keys(gitOperations).join(", git/")}`);
  const { isClosed } = openTo(context, workspace.disk);
  const actor = callerOf(actorOf(context));
  const repository = { disk: workspace.disk, env: workspace.settings().env ?? {}, actor, isClosed };
  const output = await gitOperations[op](repository, await context.req.text());
  return Response.json({ output: output.toWellFormed() });
}

const unsupported = (what: string) => (): never => fail("unsupported", `the bash driver has no ${what}`);

/** Creates all routes of one workspace, under `/v1/sandbox/:id`. */
export function createRoutes(workspace: Workspace): Hono {
  const app = new Hono({ strict: false }).basePath("/v1/sandbox/:id");
  app.use(async (context, next) => {
    await next();
    if (!context.req.raw.bodyUsed) await context.req.raw.body?.pipeTo(new WritableStream());
    context.res.headers.set("Sandbox-Instance", workspace.instance());
  });
  app.use(async (context, next) => {
    requireInstance(workspace, context);
    await next();
  });
  app.onError((error) => {
    if (error instanceof SandboxError) {
      const { message, code, status, size } = error;
      return Response.json({ error: message, code, size }, { status });
    }
    const line = { at: new Date().toISOString(), level: "error", msg: "sandbox_failed", fault: error.name };
    console.error(JSON.stringify(line));
    return Response.json({ error: "the sandbox failed", code: "exec_transport_error" }, { status: 502 });
  });
  app.notFound(() =>
    Response.json({ error: "there is no such route", code: "invalid_request" }, { status: 404 }),
  );
  app.post("/exec", (context) => exec(workspace, context));
  app.get("/exec/:exec_id", (context) => attach(workspace, context));
  app.delete("/exec/:exec_id", (context) => {
    workspace.commands.kill(context.req.param("exec_id"));
    return context.body(null, 204);
  });
  app.get("/file/workspace/*", (context) => readFile(openTo(context, workspace.disk), context));
  app.put("/file/workspace/*", (context) => writeFile(workspace, context));
  for (const address of ["/tar/workspace", "/tar/workspace/*"]) {
    app.get(address, (context) => packed(packFolder(openTo(context, workspace.disk), filePath(context))));
    app.put(address, (context) => unpack(workspace, context));
  }
  app.all("/file/*", () => fail("path_outside", "only paths under /workspace can be read and written"));
  app.post("/fs/:op", (context) => fileOperation(workspace, context));
  app.post("/search/:op", (context) => search(openTo(context, workspace.disk), context));
  app.post("/git/:op", (context) => git(workspace, context));
  app.all("/mcp/:name", unsupported("processes, so no stdio MCP servers"));
  app.post("/persist", unsupported("need to persist: its files last"));
  app.post("/hydrate", unsupported("need to hydrate: its files last"));
  app.put("/", (context) => configure(workspace, context));
  app.get("/skills", () => Response.json({ digest: readPlacedDigest(workspace.disk) }));
  app.put("/skills", async (context) => {
    placeSkills(workspace.disk, parseBody(skillsBody, await context.req.text()));
    return context.body(null, 204);
  });
  app.delete("/", async () => {
    await workspace.destroy();
    return new Response(null, { status: 204 });
  });
  app.get("/running", () => Response.json({ running: true, commands: workspace.commands.running() }));
  app.get("/capabilities", () => Response.json(workspace.capabilities()));
  return app;
}
