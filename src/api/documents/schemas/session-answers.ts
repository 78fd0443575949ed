import * as z from "zod";
import type { SessionSummary } from "../../../engine/access/rpc.ts";
import type { OperationName } from "../../../session/operations.ts";
import type { ShownLimit } from "../../../session/operations/budget.ts";
import { contextSchema } from "./context-view.ts";
import { askSchema } from "./asks.ts";
import { eventSchema } from "./events.ts";
import { json, nameSchema, schemaOf, time } from "./schema-of.ts";
import {
  endReasonSchema,
  inputSchema,
  messageSchema,
  runSchema,
  runStateSchema,
  taskSchema,
  usageSchema,
  waitReasonSchema,
} from "./values.ts";

/** Describes the answers of a session's operations by status. */

export const pageOf = (row: z.ZodType) =>
  z.strictObject({
    data: z.array(row),
    next_cursor: z.string().nullable().describe("Pass it as `cursor` to go on; null at the end."),
    prev_cursor: z.string().nullable(),
  });

const seq = z.int().describe("Later reads of the session show at least this event.");

const heldLimit = nameSchema(
  "Limit",
  "A limit of a budget, with what is spent and left of it: tokens, USD, milliseconds of model time, or calls.",
  schemaOf<ShownLimit>()(
    z.strictObject({
      scope: z
        .enum(["run", "session", "tenant"])
        .describe("Whose limit it is; the tenant's day is listed once it is used up."),
      limit: z.number(),
      spent: z.number(),
      left: z.number(),
      warn_at: z.number().describe("The share at which a warning is given."),
      on_exceeded: z.enum(["stop", "ask"]),
    }),
  ),
).nullable();

const totals = z.strictObject({
  ...usageSchema.shape,
  calls: z.int().describe("Model calls."),
  cost_usd: z.number().nullable(),
  estimated: z.boolean(),
});

const lastEnd = z
  .strictObject({ state: runStateSchema, reason: endReasonSchema })
  .nullable()
  .describe("How the last run ended.");

const sessionSchema = nameSchema(
  "Session",
  "A conversation.",
  z.strictObject({
    id: z.string(),
    ref: z.string().nullable().describe("The caller's own name of the session."),
    agent: z.string(),
    prefix: z.string(),
    title: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    status: z.enum(["idle", "running", "waiting"]),
    waiting_for: z.array(waitReasonSchema),
    revision: z.string(),
    model: z.string().nullable().describe("Null is the agent's own."),
    usage: totals,
    budget: z
      .strictObject({
        max_tokens: heldLimit,
        max_cost_usd: heldLimit,
        max_duration: heldLimit,
        max_tool_calls: heldLimit,
      })
      .describe(
        "For each kind the limit with the least left now; null if there is none. Between runs, a limit per run is the unspent one of the next run.",
      ),
    head_seq: z.int().describe("The newest event."),
    open_asks: z.array(z.string()),
    queued_inputs: z.array(z.string()),
    last_run: z.string().nullable(),
    last_end: lastEnd,
    active_run: z.string().nullable(),
    interactive: z.boolean(),
    retention_days: z.int().nullable(),
    created_at: time,
    updated_at: time,
  }),
);

export const summarySchema = nameSchema(
  "SessionSummary",
  "A session as the tenant's list shows it, up to 5 s late.",
  z.strictObject({
    id: z.string(),
    ref: z.string().nullable(),
    agent: z.string(),
    title: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    status: schemaOf<SessionSummary["status"]>()(z.enum(["idle", "running", "waiting", "deleted"])),
    revision: z.string(),
    head_seq: z.int(),
    created_at: time,
    updated_at: time,
    usage: totals,
    last_end: lastEnd,
  }),
);

const threadFields = {
  id: z.string(),
  agent: z.string(),
  parent: z.strictObject({ thread: z.string(), call: z.string() }).nullable(),
  depth: z.int(),
  run: z.string().nullable(),
  last_run: z.string().nullable(),
};

const liveThread = z.strictObject({
  ...threadFields,
  status: z.enum(["idle", "running", "waiting"]),
  usage: usageSchema.describe(
    "Including the threads below it; for `main`, everything since the session was cleared.",
  ),
  label: z.exactOptional(z.string()),
  task: z.exactOptional(z.string()),
  started_at: z.exactOptional(time.nullable()),
});

const endedThread = z.strictObject({
  ...threadFields,
  status: z.literal("ended"),
  label: z.string(),
  task: z.string(),
  state: runStateSchema.nullable(),
  reason: endReasonSchema.nullable(),
  error: z.string().nullable(),
  turns: z.int(),
  usage: usageSchema.nullable(),
  started_at: time,
  ended_at: time.nullable(),
});

const threadSchema = nameSchema(
  "Thread",
  "One agent's chat in the session: `main` is the person's.",
  z.discriminatedUnion("status", [liveThread, endedThread]),
);

export const receiptSchema = nameSchema(
  "Receipt",
  "The message is stored; `run` is the one under way, or that the message began.",
  z.strictObject({
    input: z.string(),
    status: inputSchema.shape.status,
    run: z.string().nullable(),
    run_state: z
      .exactOptional(z.enum(["completed", "failed", "cancelled"]))
      .describe("The run is over already, such as one that no budget allows."),
    seq,
    asks: z
      .exactOptional(z.array(askSchema.pick({ id: true, kind: true })))
      .describe("With `wait`: the open asks, if the run cannot go on until one is answered."),
  }),
);

const presentState = {
  state: z
    .exactOptional(z.enum(["full", "overlaid", "retired"]))
    .describe("With `retired=true`: how the model sees the message now."),
  retired_by: z.exactOptional(z.string().nullable()).describe("The kind of the effect that retired it."),
  retired_for: z.exactOptional(z.string().nullable()).describe("Why it was retired."),
};

const listedMessage = nameSchema(
  "ListedMessage",
  "A message of a thread, with `retired=true` including its current form in the model's view.",
  messageSchema.extend(presentState),
);

const openItem = z.strictObject({
  item: z.string(),
  kind: z.enum(["text", "reasoning", "tool_input", "tool_output"]),
  thread: z.string(),
  attempt: z.int(),
  text: z.string(),
});

export const snapshotSchema = nameSchema(
  "Snapshot",
  "Everything that a client needs to start, at the event `seq`; `more` names the lists that did not fit.",
  z.strictObject({
    seq: z.int(),
    session: sessionSchema,
    threads: z.array(threadSchema),
    items: z.array(openItem),
    runs: z.array(runSchema),
    more: z.strictObject({
      messages: z.array(z.strictObject({ thread: z.string(), before: z.int() })),
      asks: z.string().nullable(),
      inputs: z.array(z.string()),
    }),
    asks: z.array(askSchema),
    inputs: z.array(inputSchema),
    messages: z.array(messageSchema),
  }),
);

const modelUsage = z.strictObject({
  agent: z.string(),
  model: z.string(),
  provider: z.string(),
  calls: z.int(),
  usage: usageSchema,
  cost_usd: z.number().nullable(),
  estimated: z.boolean(),
});

const sessionUsage = nameSchema(
  "SessionUsage",
  "The usage of the session.",
  z.strictObject({
    cumulative: z
      .strictObject({
        ...usageSchema.shape,
        cost_usd: z.number().nullable(),
        estimated: z.boolean(),
      })
      .describe("Since it was cleared."),
    calls: z.int(),
    lifetime: totals.describe("Since it was created."),
    by: z.array(modelUsage),
    status: z.enum(["idle", "running", "waiting"]),
  }),
);

const noteSchema = nameSchema(
  "Note",
  "A note that agents share.",
  z.strictObject({
    name: z.string(),
    content: z.string(),
    agent: z.exactOptional(z.string()).describe("The owner of the note, if each agent has its own."),
  }),
);

const uploadSchema = nameSchema(
  "Upload",
  "A file that is kept with the session; parts of messages name it as `file`.",
  z.strictObject({
    id: z.string(),
    name: z.string(),
    media_type: z.string(),
    size: z.int(),
    sha256: z.string(),
    created_at: time,
  }),
);

const stateEntry = nameSchema(
  "StateEntry",
  "A value of the state store.",
  z.strictObject({ key: z.string(), revision: z.int(), value: json }),
);

const fileRow = nameSchema(
  "File",
  "A file or folder of the workspace.",
  z.strictObject({
    name: z.string(),
    type: z.string().describe("`file` or `directory`."),
    size: z.int(),
  }),
);

const fileChanged = nameSchema(
  "ChangedFiles",
  "The outcome of a change of the workspace.",
  z.strictObject({
    path: z.string(),
    changed: z.int().describe("How many files changed."),
    size: z.exactOptional(z.int()),
    sha256: z.exactOptional(z.string()),
    seq,
  }),
);

const migrated = z.strictObject({
  from: z.string(),
  to: z.string(),
  changes: z
    .array(json)
    .describe(
      "What changed of the session itself: an agent's new name, state of effects that are gone, a model no longer allowed. New texts and tools of the revision are not listed.",
    ),
  when: z.enum(["now", "next_run"]),
  dry_run: z.boolean(),
  seq: z.exactOptional(seq),
});

const begun = z.strictObject({ run: z.string().nullable(), seq });

/** Maps the statuses of success to their answers; null has no body. */
export type Answers = Readonly<Partial<Record<200 | 201 | 202 | 204 | 503, z.ZodType | null>>>;

/** JSON answers of each operation over HTTP. */
export const sessionAnswers: Readonly<Record<OperationName, Answers>> = {
  create: { 201: sessionSchema, 200: sessionSchema },
  get: { 200: sessionSchema },
  patch: { 200: sessionSchema },
  delete: { 204: null },
  send: { 202: receiptSchema, 200: runSchema },
  messages: {
    200: z.strictObject({
      data: z.array(listedMessage),
      next_before: z
        .int()
        .nullable()
        .describe("Pass it as `before` to see older ones; null at the first message."),
    }),
  },
  pin: { 200: z.strictObject({ message: z.string(), pinned: z.boolean(), seq }) },
  inputs: { 200: pageOf(inputSchema) },
  input: { 200: inputSchema },
  edit_input: { 200: nameSchema("EditedInput", "The input after the edit.", inputSchema.extend({ seq })) },
  withdraw: { 200: z.strictObject({ input: z.string(), status: z.literal("withdrawn"), seq }) },
  runs: { 200: pageOf(runSchema) },
  run: { 200: runSchema },
  context: { 200: contextSchema },
  threads: { 200: pageOf(threadSchema) },
  cancel: { 200: begun },
  asks: { 200: pageOf(askSchema) },
  answer: { 200: askSchema },
  events: { 200: z.strictObject({ data: z.array(eventSchema), next_after: z.int(), head_seq: z.int() }) },
  snapshot: { 200: snapshotSchema },
  clear: { 200: sessionSchema },
  rewind: { 200: sessionSchema },
  fork: { 201: sessionSchema, 200: sessionSchema },
  migrate: { 200: migrated },
  compact: { 202: begun },
  usage: { 200: sessionUsage },
  state: { 200: pageOf(stateEntry) },
  tasks: { 200: pageOf(taskSchema) },
  notes: { 200: pageOf(noteSchema) },
  workspace: { 200: pageOf(fileRow) },
  read_file: { 200: pageOf(fileRow) },
  write_file: { 200: fileChanged, 201: fileChanged },
  delete_file: { 200: fileChanged },
  unpack: { 200: fileChanged, 201: fileChanged },
  upload: {
    201: nameSchema("KeptUpload", "The stored file.", uploadSchema.extend({ seq })),
  },
  uploads: { 200: pageOf(uploadSchema) },
  read_upload: { 200: uploadSchema },
};
