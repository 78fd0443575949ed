import type * as z from "zod";
import { describedRoutes } from "../../src/api/documents/routes.ts";
import type { DescribedRoute } from "../../src/api/documents/routes.ts";
import { clientFrames } from "../../src/api/documents/schemas/client-frames.ts";
import { eventSchemas } from "../../src/api/documents/schemas/events.ts";
import { serverFrames } from "../../src/api/documents/schemas/frames.ts";
import { problemSchema } from "../../src/api/documents/schemas/problems.ts";
import { sessionAnswers } from "../../src/api/documents/schemas/session-answers.ts";
import { pathParametersOf } from "../../src/session/define-operation.ts";
import { findOperation } from "../../src/session/operations.ts";
import type { OperationName } from "../../src/session/operations.ts";
import { problemBody, problemKinds } from "../../src/session/problems.ts";
import type { SessionReply } from "../../src/session/rpc.ts";

/** What tests see at the wire is checked against what the documents say of it (AP-50), and kept as an example if asked for. */

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const { env = {} } = import.meta as { readonly env?: Readonly<Record<string, unknown>> };

/** `vitest --mode record` prints what it sees, of all kinds of tests alike. */
const isRecording = env["MODE"] === "record";

const recorded = new Set<string>();

/** Prints a line for `record-examples.ts`. */
const record = (kind: string, key: string, value: unknown): void => {
  if (!isRecording) return;
  const text = JSON.stringify({ kind, key, value });
  if (text.length > 6_000 || recorded.has(`${kind} ${key} ${text.length}`)) return;
  recorded.add(`${kind} ${key} ${text.length}`);
  console.log(`@recorded ${text}`);
};

/** A string but for what no document tells apart: prose and the random part of an id. */
const wordOf = (text: string): string => (/^[a-z][a-z_.-]{0,40}$/.test(text) ? text : `${text.slice(0, 2)}…`);

/** What a value consists of: its keys, its words, the kinds of its numbers; of a list each kind of element once. */
const formOf = (value: unknown): string => {
  if (typeof value === "string") return wordOf(value);
  if (typeof value === "number") return `${Math.sign(value)}${Number.isInteger(value) ? "" : ".5"}`;
  if (Array.isArray(value)) return `[${[...new Set(value.map(formOf))].join()}]`;
  if (!isFields(value)) return String(value);
  return `{${Object.keys(value)
    .map((key) => `${key}:${formOf(value[key])}`)
    .join()}}`;
};

/** Forms that fit their schema: whole matrices of crashes see the same ones thousands of times. */
const fitting = new Map<z.ZodType, Set<string>>();

const misfitOfForm = (what: string, schema: z.ZodType, value: unknown): string | null => {
  const forms = fitting.get(schema) ?? new Set();
  fitting.set(schema, forms);
  const form = formOf(value);
  if (forms.has(form)) return null;
  const { error } = schema.safeParse(value);
  if (error === undefined) {
    if (forms.size > 5_000) forms.clear();
    if (form.length < 4_000) forms.add(form);
    return null;
  }
  const issues = error.issues.slice(0, 3).map(({ path, message }) => `/${path.join("/")}: ${message}`);
  return `${what} is not what the documents say: ${issues.join("; ")} in ${JSON.stringify(value).slice(0, 600)}`;
};

/** Checks a page element by element, since pages differ in what stands together, hardly in what it is. */
const misfit = (what: string, schema: z.ZodType, value: unknown): string | null => {
  if (!isFields(value) || !Array.isArray(value["data"]) || value["data"].length < 2)
    return misfitOfForm(what, schema, value);
  for (const element of value["data"]) {
    const problem = misfitOfForm(what, schema, { ...value, data: [element] });
    if (problem !== null) return problem;
  }
  return null;
};

const fail = (problem: string | null): void => {
  if (problem !== null) throw new Error(problem);
};

const patterns = describedRoutes.map((described) => {
  const { path, alias } = described.route;
  const address = path.replace(/:\w+\{\.\+\}/g, ".+").replace(/:\w+/g, "[^/]+");
  const prefix = alias === undefined ? "" : "(?:/v1)?";
  return {
    described,
    pattern: new RegExp(`^${prefix}${alias === undefined ? address : address.replace(/^\/v1/, "")}$`),
  };
});

const findRoute = (method: string, pathname: string): DescribedRoute | undefined =>
  patterns.find(({ described, pattern }) => described.route.method === method && pattern.test(pathname))
    ?.described;

/** A request whose answer is to be checked. */
export interface SeenAnswer {
  readonly method: string;
  readonly path: string;
  readonly sent?: unknown;
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
  /** Is set where a double of a test may have said it: then it is no example. */
  readonly isInvented?: boolean;
}

/** Checks a refusal. */
const checkProblem = (problem: unknown, isInvented = false): void => {
  fail(misfit("a problem", problemSchema, problem));
  if (isFields(problem) && !isInvented) record("problems", String(problem["code"]), problem);
};

/** Checks an answer of the API; those that are no JSON are not looked at. */
export const checkAnswer = (seen: SeenAnswer): void => {
  const { method, path, sent, status, type, text, isInvented = false } = seen;
  if (status >= 400 && type?.startsWith("application/problem+json") === true)
    return checkProblem(JSON.parse(text), isInvented);
  const [pathname = "", query = ""] = path.split("?");
  const route = findRoute(method, pathname);
  if (route === undefined || (status >= 300 && status < 400)) return;
  const { answers, id } = route;
  if (type?.startsWith("application/json") !== true || query.includes("format=provider")) return;
  const schema = Object.entries(answers).find(([each]) => each === String(status))?.[1];
  if (schema === undefined)
    throw new Error(`${method} ${pathname} answered ${status}, which no document says`);
  if (schema === null) return;
  const body: unknown = JSON.parse(text);
  fail(misfit(`${method} ${pathname} ${status}`, schema, body));
  if (isInvented) return;
  record("answers", `${id} ${status}`, body);
  if (isFields(sent) && route.body !== null) record("requests", id, sent);
};

/** The router answers these itself from what the session says. */
const answeredElsewhere: readonly OperationName[] = [
  "workspace",
  "read_file",
  "write_file",
  "delete_file",
  "unpack",
  "read_upload",
  "notes",
];

/** Checks what a session answered to an operation, as HTTP would pass it on. */
export const checkReply = (op: OperationName, params: Fields, reply: SessionReply): void => {
  if (!reply.ok) return checkProblem(problemBody(reply.problem));
  if (reply.status === 204 || answeredElsewhere.includes(op)) return;
  if (params["format"] === "provider" || params["format"] === "text") return;
  const schema = sessionAnswers[op][reply.status];
  if (schema == null) throw new Error(`${op} answered ${reply.status}, which no document says`);
  const body: unknown = JSON.parse(reply.json);
  fail(misfit(`${op} ${reply.status}`, schema, body));
  record("answers", `${op} ${reply.status}`, body);
  const operation = findOperation(op);
  const ids = [...pathParametersOf(operation), "source"];
  const sent = Object.entries(params).filter(([name]) => !ids.includes(name));
  if (operation.kind === "write" && sent.length > 0) record("requests", op, Object.fromEntries(sent));
};

/** Says why an event is not what the documents say; null if it is. */
const findEventProblem = (event: unknown): string | null => {
  const type = isFields(event) ? String(event["type"]) : "";
  const schema = eventSchemas.get(type);
  if (schema === undefined) return `no document has the event ${type}`;
  // Of data that were far too long nothing is left but that they were cut.
  const data = isFields(event) ? event["data"] : null;
  if (isFields(data) && data["truncated"] === true && !("output" in data) && Object.keys(data).length <= 2)
    return null;
  const problem = misfit(`the event ${type}`, schema, event);
  if (problem !== null) return problem;
  record("events", type, event);
  // What a run failed with has the form of a refusal, and often one of its codes.
  const error = type === "run_end" && isFields(data) ? data["error"] : null;
  if (isFields(error) && String(error["code"]) in problemKinds)
    record("problems", String(error["code"]), error);
  return null;
};

/** Says why a frame of the server is not what the documents say; null if it is. */
export const findFrameProblem = (frame: unknown): string | null => {
  const type = isFields(frame) ? String(frame["type"]) : "";
  if (type === "event" && isFields(frame)) {
    record("frames", "server event", frame);
    return findEventProblem(frame["event"]);
  }
  const schema = serverFrames.get(type);
  if (schema === undefined) return `no document has the frame ${type}`;
  const problem = misfit(`the frame ${type}`, schema, frame);
  if (problem !== null) return problem;
  record("frames", `server ${type}`, frame);
  if (type === "bye" && isFields(frame)) record("closes", String(frame["code"]), frame);
  return null;
};

/** Keeps how a socket was closed, for codes that no `bye` comes before. */
export const recordClose = (code: number, reason: string): void =>
  record("closes", String(code), { code, reason });

/** Keeps a frame that a client sent and the server took. */
export const recordClientFrame = (frame: unknown): void => {
  const type = isFields(frame) ? String(frame["type"]) : "";
  if (clientFrames.get(type)?.schema.safeParse(frame).success === true)
    record("frames", `client ${type}`, frame);
};

/** Collects what is not as documented where a throw would be taken for a fault of the session. */
export const createMisfits = () => {
  const found: string[] = [];
  const add = (problem: string | null): void => void (problem !== null && found.push(problem));
  return {
    event: (event: unknown): void => add(findEventProblem(event)),
    frame: (frame: unknown): void => add(findFrameProblem(frame)),
    check: (): void => fail(found.length === 0 ? null : found.join("\n")),
  };
};
