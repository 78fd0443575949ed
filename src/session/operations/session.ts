import { freshSession } from "../../agent/state/session.ts";
import * as z from "zod";
import { loseModelCall } from "../../agent/calls/model-call.ts";
import { advanceSession } from "../../agent/loop/advance.ts";
import { runRecordOf } from "../../agent/run/runs.ts";
import { shownWaitReasons } from "../../agent/run/wait.ts";
import { noFunds, noSpending } from "../../agent/state/budget.ts";
import type { Session } from "../../agent/state/session.ts";
import { newThread, sessionStatusOf, waitingInputsOf } from "../../agent/state/thread.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import { agentOf, assign, emit, headAfter, selectThread } from "../../agent/transaction/draft.ts";
import type { Json } from "../../chat/message.ts";
import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { CommandAnswer, SessionRules, WriteContext } from "../define-operation.ts";
import { createdAnswer, okAnswer, wellFormedText, defineRead, defineWrite } from "../define-operation.ts";
import type { Problem } from "../problems.ts";
import {
  busyRetryMs,
  missingSession,
  ProblemError,
  refuse,
  refuseField,
  refuseIfProblem,
} from "../problems.ts";
import type { Principal } from "../rpc.ts";
import {
  totalsView,
  changeSessionBudget,
  budgetChangeSchema,
  budgetSchema,
  createBudget,
  budgetView,
} from "./budget.ts";
import { initialFilesSchema, storeInitialFiles } from "./workspace.ts";
import { submitInput, inputSchema, jsonSchema } from "./send.ts";
import { subjectOf } from "../../agent/memory/memories.ts";

const clientToolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z][\w-]{0,63}$/, "a letter, then letters, digits, _ and -"),
  description: wellFormedText(1_024),
  params: jsonSchema,
  safety: z.enum(["read", "idempotent", "reattach", "unsafe"]).default("unsafe"),
});

const retentionDaysSchema = z
  .int()
  .min(1)
  .max(3_650)
  .describe("Days without use after which the session is deleted; can only shorten retention.session_days.");

export const titleSchema = wellFormedText(256);

/** Most pairs of texts that the session's owner gives; `subject` names the person whose memory agents use. */
const mostPairs = 16;

const isFull = (pairs: object): boolean => Object.keys(pairs).length > mostPairs;

const metadataSchema = z
  .record(wellFormedText(64).min(1), wellFormedText(512))
  .refine((pairs) => !isFull(pairs), `at most ${mostPairs} pairs`);

const createSchema = z.strictObject({
  ref: wellFormedText(128)
    .min(1)
    .optional()
    .describe("Your own name for the session: the same name finds the same session."),
  agent: z.string().max(64).optional().describe("Omitted: the team's entry agent."),
  title: titleSchema.optional().describe("Omitted: the beginning of the first message."),
  metadata: metadataSchema
    .default({})
    .describe("Up to 16 texts; subject names the person whose memory agents use, and stays."),
  input: z
    .union([wellFormedText(1_048_576), inputSchema.omit({ wait: true, thread: true, on_busy: true })])
    .optional()
    .describe(
      "The first message: a text, or the body of POST S/messages. If `ref` finds a session, the message is not sent: that session is answered with 200 as it is.",
    ),
  interactive: z.boolean().optional().describe("Whether a person can answer what agents ask."),
  files: initialFilesSchema
    .default([])
    .describe("Files that are put into the workspace before anything reads it."),
  tools: z
    .array(z.string().max(128))
    .max(256)
    .optional()
    .describe("Ceiling: no other tool may be used, client_tools included."),
  client_tools: z
    .array(clientToolSchema)
    .max(32)
    .default([])
    .describe("Tools that you carry out: their calls are asks."),
  model: z.string().max(200).optional(),
  budget: budgetSchema.optional().describe("Limits that tighten those of the team."),
  output_schema: jsonSchema.optional().describe("A JSON Schema that every final answer must fit."),
  retention_days: retentionDaysSchema.optional(),
});

/** Returns whether a session exists; its creation is its first event. */
export const isCreated = ({ head }: Session): boolean => head > 0;

/** Returns a session that does not exist yet, from which a create starts. */
export const emptySession = (
  id: string,
  { tenant, jurisdiction }: TenantAddress,
  rules: SessionRules,
  now: number,
): Session => ({
  ...freshSession,
  id,
  tenant,
  jurisdiction,
  agent: rules.entryAgent,
  revision: rules.revision,
  interactive: rules.interactive,
  funds: noFunds,
  createdAt: now,
  updatedAt: now,
  head: 0,
  nextRun: 1,
  nextInput: 1,
  nextBlob: 1,
  nextEdit: 1,
  threads: { main: newThread("main", rules.entryAgent) },
  spent: noSpending,
});

const requireAgent = (name: string, rules: SessionRules): string => {
  if (!rules.agentNames.includes(name))
    return refuseField(
      "unknown_agent",
      "/agent",
      `no agent ${JSON.stringify(name)}; known: ${rules.agentNames.join(", ")}`,
    );
  refuseIfProblem(rules.agentProblem(name));
  return name;
};

type CreateParams = z.output<typeof createSchema>;

/** Returns the agent of the new session if everything that the request names is available. */
const admitSession = (rules: SessionRules, params: CreateParams): string => {
  const agent = requireAgent(params.agent ?? rules.entryAgent, rules);
  if (params.model !== undefined) refuseIfProblem(rules.modelProblem(params.model, agent));
  refuseIfProblem(rules.clientToolProblem(params.client_tools, agent));
  if (params.files.length > 0) refuseIfProblem(rules.workspaceProblem());
  refuseIfProblem(rules.ceilingProblem(params.tools ?? [], params.client_tools));
  const schema = params.output_schema === undefined ? null : rules.schemaProblem(params.output_schema);
  return schema === null ? agent : refuseField("output_schema_invalid", "/output_schema", schema);
};

/** Submits the input of a creation; the pointers of a refusal lead to its fields in the whole request. */
const submitFirstInput = (context: WriteContext, given: NonNullable<CreateParams["input"]>): void => {
  const isText = typeof given === "string";
  const input = isText ? { content: given } : given;
  try {
    submitInput(context, { ...input, thread: "main" });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const errors = (error.problem.errors ?? []).map((each) => ({
      ...each,
      pointer: isText ? "/input" : `/input${each.pointer}`,
    }));
    const [first] = errors;
    if (first === undefined) throw error;
    throw new ProblemError({ ...error.problem, detail: `${first.pointer}: ${first.message}`, errors });
  }
};

const createSession = (context: WriteContext, params: CreateParams): CommandAnswer => {
  const { draft, rules } = context;
  if (isCreated(draft.state)) return okAnswer(sessionView(draft.state, rules));
  const agent = admitSession(rules, params);
  const { ref = null, title = null, metadata, interactive = rules.interactive, model = null } = params;
  assign(draft.state, {
    agent,
    ref,
    title,
    named: title !== null,
    metadata,
    interactive,
    model,
    tools: params.tools ?? null,
    clientTools: params.client_tools,
    outputSchema: params.output_schema ?? null,
    budget: createBudget(params.budget),
    retentionDays: params.retention_days ?? null,
  });
  draft.state.threads["main"] = newThread("main", agent);
  const main = selectThread(draft, "main");
  draft.state.prefix = agentOf(main).prefix;
  const { revision } = draft.state;
  emit(main, "session_created", { agent, revision, ref, title, metadata });
  storeInitialFiles(draft, params.files);
  if (params.input !== undefined) submitFirstInput(context, params.input);
  return createdAnswer(viewAfter(context));
};

export const createOperation = defineWrite({
  name: "create",
  summary: "Creates a session, and starts its first run if an input comes with it; one that exists is shown.",
  scopes: ["sessions:write"],
  method: "POST",
  path: "/v1/sessions",
  params: createSchema,
  creates: true,
  alias: true,
  isTagged: true,
  takesContent: true,
  mayStartRun: ({ input }) => input !== undefined,
  run: createSession,
});

/** Shows a session as the API does. */
export const sessionView = (session: Session, rules: SessionRules): object => {
  const threads = Object.values(session.threads);
  return {
    id: session.id,
    ref: session.ref,
    agent: session.agent,
    prefix: session.prefix,
    title: session.title,
    metadata: session.metadata,
    status: sessionStatusOf(session),
    waiting_for: threads.flatMap((thread) => shownWaitReasons(session, thread)),
    revision: session.revision,
    model: session.model,
    usage: totalsView(session),
    budget: budgetView(session, rules),
    head_seq: session.head,
    open_asks: Object.keys(session.asks),
    queued_inputs: waitingInputsOf(session).map(({ id }) => id),
    last_run: session.threads["main"]?.lastRun ?? null,
    last_end: session.threads["main"]?.lastEnd ?? null,
    active_run: session.threads["main"]?.run?.id ?? null,
    interactive: session.interactive,
    retention_days: session.retentionDays,
    created_at: session.createdAt,
    updated_at: session.updatedAt,
  };
};

/** Shows the session as it will be once this draft is stored. */
export const viewAfter = ({ draft, rules }: WriteContext): object =>
  sessionView({ ...draft.state, head: headAfter(draft) }, rules);

export const getOperation = defineRead({
  name: "get",
  summary: "Shows the session.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session",
  params: z.strictObject({}),
  isTagged: true,
  run: ({ state, rules }) => okAnswer(sessionView(state, rules)),
});

const patchSchema = z.strictObject({
  title: titleSchema.nullable().optional(),
  metadata: metadataSchema.optional(),
  model: z.string().max(200).nullable().optional(),
  scope: z.enum(["main", "tree"]).optional(),
  budget: budgetChangeSchema.optional(),
  retention_days: retentionDaysSchema.nullable().optional(),
});

/** Changes the session's model, or whose calls it is for, from the next call on; a model is for `main` unless it says more. */
const changeModel = (
  { draft, rules }: WriteContext,
  given: Pick<z.output<typeof patchSchema>, "model" | "scope">,
): void => {
  const { model: from, modelScope, agent } = draft.state;
  const { model = from, scope = given.model === undefined ? modelScope : "main" } = given;
  if (model !== null) refuseIfProblem(rules.modelProblem(model, agent));
  if (model !== from || scope !== modelScope)
    emit(selectThread(draft, "main"), "model_changed", { from, to: model, scope });
  draft.state.model = model;
  draft.state.modelScope = scope;
};

type DefinedFields<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

const omitUndefined = <T extends object>(fields: T): DefinedFields<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<T>;

/** Changes all metadata except `subject`, which is fixed when the session is created. */
const changeMetadata = (before: Session["metadata"], given: Session["metadata"]): Session["metadata"] => {
  const subject = subjectOf(before);
  const wanted = subjectOf(given) ?? subject;
  if (wanted !== subject)
    return refuseField(
      "invalid_request",
      "/metadata/subject",
      "it is set when a session is created and stays; leave it out, or create another session for this subject",
    );
  const after = subject === null ? given : { ...given, subject };
  if (isFull(after))
    return refuseField(
      "invalid_request",
      "/metadata",
      `at most ${mostPairs} pairs, and the subject, which stays, is one of them; leave one out`,
    );
  return after;
};

const patchSession = (context: WriteContext, params: z.output<typeof patchSchema>): CommandAnswer => {
  const { title, metadata: given, model, scope, budget, retention_days } = params;
  const { draft, rules } = context;
  const metadata = given && changeMetadata(draft.state.metadata, given);
  if (model !== undefined || scope !== undefined) changeModel(context, { model, scope });
  if (budget !== undefined) changeSessionBudget(context, budget);
  const shown = budget === undefined ? undefined : budgetView(draft.state, rules);
  const changed = omitUndefined({ budget: shown, title, metadata, retention_days });
  const named = title === undefined ? undefined : true;
  const own = omitUndefined({ title, named, metadata, retentionDays: retention_days });
  assign(draft.state, { ...own, updatedAt: draft.context.now });
  if (Object.keys(changed).length > 0) emit(selectThread(draft, "main"), "session_updated", changed);
  if (budget !== undefined) advanceSession(draft, "budget");
  return okAnswer(viewAfter(context));
};

export const patchOperation = defineWrite({
  name: "patch",
  summary: "Changes the fields that the caller names; If-Match holds the ETag of the session that was read.",
  scopes: ["sessions:manage"],
  method: "PATCH",
  path: "/v1/sessions/:session",
  params: patchSchema,
  isTagged: true,
  matches: "session",
  run: patchSession,
});

/** Refuses an operation that needs a session without a run, or at least without a thread of some kind that has one. */
export const requireRest = ({ state }: Draft, isBusy: (threadId: string) => boolean = () => true): void => {
  for (const thread of Object.values(state.threads))
    if (thread.run !== null && isBusy(thread.id))
      refuse("session_busy", "a run is active; cancel it first", {
        retryAfterMs: busyRetryMs,
        meta: { run: runRecordOf(thread, thread.run) as unknown as Json },
      });
};

export const deleteOperation = defineWrite({
  name: "delete",
  summary: "Deletes the session with everything that it holds.",
  scopes: ["sessions:manage"],
  method: "DELETE",
  path: "/v1/sessions/:session",
  params: z.strictObject({}),
  alias: true,
  matches: "session",
  run: ({ draft, remove }) => {
    // Nobody waits for the model calls under way, which are paid for all the same.
    for (const { id, run } of Object.values(draft.state.threads))
      if (run !== null) loseModelCall(selectThread(draft, id), "cancelled");
    remove();
    return { status: 204, json: "" };
  },
});

/**
 * Returns why a caller may not see a session at all; null if it may. Another tenant's session looks like a
 * missing one; a token is valid for the session that it was made for, not for a later one of the same name.
 */
export const accessProblem = (session: Session | null, principal: Principal): Problem | null => {
  const { tenant, session: only, made } = principal;
  if (session === null || session.tenant !== tenant || (only !== undefined && only !== session.id))
    return missingSession;
  return only === undefined || made === session.createdAt
    ? null
    : { code: "unauthenticated", detail: "this token's session was deleted; mint one for the new session" };
};
