import * as z from "zod";
import type { Json } from "../chat/message.ts";
import { utf8Length } from "../chat/tokens.ts";
import { describeIssue, text } from "../schema.ts";

/** Defines the stores that the threads of a session share: values, a task board, notes, and memories. */

const statuses = ["pending", "in_progress", "completed", "failed", "cancelled"] as const;
export type TaskStatus = (typeof statuses)[number];

/** Task as tools see it. Times are milliseconds since the epoch. */
export interface Task {
  /** Id: `task_1`, `task_2`, … */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly status: TaskStatus;
  /** Thread that works on it, or last did. */
  readonly assignee: string | null;
  readonly blocked_by: readonly string[];
  /** Whether the task is not over and depends on one that is not completed. */
  readonly blocked: boolean;
  readonly blocked_reason: "dependency_failed" | null;
  readonly metadata: Readonly<Record<string, Json>>;
  /** Agent that created it. */
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** Note without its content. */
export interface NoteHead {
  readonly name: string;
  /** First line that is not blank, at most 80 characters. */
  readonly first_line: string;
}

/** Remembered text, and how well it matches a query: 0 to 1. */
export interface MemoryHit {
  /** When it was remembered, in milliseconds since the epoch. */
  readonly at: number;
  readonly agent: string;
  readonly text: string;
  readonly tags: readonly string[];
  readonly score: number;
}

/** Stores as a tool reads them; each answer is a copy of the newest stored state. */
export interface Stores {
  readonly state: {
    readonly get: (key: string) => { readonly value: Json; readonly revision: number } | null;
    /** Returns the keys, sorted. */
    readonly keys: () => readonly string[];
  };
  readonly tasks: {
    readonly get: (id: string) => Task | null;
    /** Returns the tasks in the order of their creation. */
    readonly list: () => readonly Task[];
  };
  readonly notes: {
    readonly read: (name: string) => Promise<string | null>;
    /** Returns the notes by name. */
    readonly list: () => Promise<readonly NoteHead[]>;
  };
  readonly memory: {
    /**
     * Returns texts that match a query, best first; null if the agent has no memory. Rejects if it cannot be read
     * now.
     */
    readonly search: (
      query: string,
      options: { readonly limit: number; readonly threshold: number },
    ) => Promise<readonly MemoryHit[] | null>;
  };
}

export const storeLimits = {
  /** Bytes of a value's JSON, bytes of all values, and their number. */
  value: 262_144,
  values: 8_388_608,
  keys: 1_000,
  note: 65_536,
  notes: 200,
  tasks: 1_000,
  metadata: 16_384,
  memory: 8_192,
} as const;

const jsonBytes = (value: unknown): number => utf8Length(JSON.stringify(value));

/** Schema of any JSON; its declaration for models allows any value, since some models reject recursive schemas. */
const anyJson = z
  .unknown()
  .refine((value) => value !== undefined, "a value is required")
  .transform((value) => value as Json);

export const stateKey = z
  .string()
  .regex(/^[^\p{Cc}]{1,256}$/u, "1 to 256 characters, none of them a control character")
  .refine((key) => key.isWellFormed(), "must be well-formed Unicode");
export const stateValue = anyJson.refine(
  (value) => jsonBytes(value) <= storeLimits.value,
  "a value has at most 256 KiB of JSON",
);
export const revision = z.int().min(0);

export const noteName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 letters, digits, _ and -");
export const noteContent = z
  .string()
  .refine((content) => utf8Length(content) <= storeLimits.note, "a note has at most 64 KiB");
const noteSchema = z.strictObject({ name: noteName, content: noteContent });

/** Parses a note that another object sends; its issues are sentences. */
export const parseNote = (given: object) => noteSchema.safeParse(given, { error: describeIssue });

export const memoryText = text(storeLimits.memory, 1)
  .refine((value) => /\S/.test(value), "must not be blank")
  .refine((value) => utf8Length(value) <= storeLimits.memory, "a remembered text has at most 8 KiB");
export const memoryTags = z.array(text(64, 1)).max(16);

export const taskId = z.string().min(1).max(64);
export const taskTitle = text(200, 1);
export const taskDescription = text(16_000);
export const taskDependencies = z.array(taskId).max(64);
export const taskMetadata = z
  .record(z.string().max(256), anyJson)
  .refine((metadata) => jsonBytes(metadata) <= storeLimits.metadata, "metadata has at most 16 KiB of JSON");
/** Schema of a task's status; reads `canceled` as `cancelled`. */
export const taskStatus = z.preprocess(
  (value) => (value === "canceled" ? "cancelled" : value),
  z.enum(statuses),
);

const state = z.literal("state");
const tasks = z.literal("tasks");

/**
 * Schema of the changes that a tool returns. They are checked against the newest state in the commit that stores
 * the outcome: all are applied, or the call ends with the error of the first that is refused.
 */
export const storeChange = z.union([
  z.strictObject({
    store: state,
    op: z.literal("set"),
    key: stateKey,
    value: stateValue,
    /** Revision that the value must have; 0: it must be absent. */
    if_revision: revision.optional(),
  }),
  z.strictObject({ store: state, op: z.literal("delete"), key: stateKey }),
  z.strictObject({ store: z.literal("notes"), op: z.literal("write"), name: noteName, content: noteContent }),
  z.strictObject({
    store: z.literal("memory"),
    op: z.literal("append"),
    text: memoryText,
    tags: memoryTags.default([]),
  }),
  z.strictObject({
    store: tasks,
    op: z.literal("create"),
    title: taskTitle,
    description: taskDescription.default(""),
    blocked_by: taskDependencies.default([]),
    metadata: taskMetadata.default({}),
  }),
  z.strictObject({ store: tasks, op: z.enum(["claim", "cancel"]), id: taskId }),
  z.strictObject({
    store: tasks,
    op: z.literal("reassign"),
    id: taskId,
    assignee: z.string().min(1).max(64),
  }),
  z.strictObject({
    store: tasks,
    op: z.literal("update"),
    id: taskId,
    status: taskStatus.optional(),
    title: taskTitle.optional(),
    description: taskDescription.optional(),
    blocked_by: taskDependencies.optional(),
    /** Merged into the existing metadata; null removes a value. */
    metadata: taskMetadata.optional(),
  }),
]);
export type StoreChange = z.input<typeof storeChange>;
export type CheckedChange = z.output<typeof storeChange>;

/** Returns the first line of a note that is not blank, cut to 80 characters. */
export const firstLine = (content: string): string => {
  const line = content.split("\n").find((each) => /\S/.test(each)) ?? "";
  return Array.from(line.trim()).slice(0, 80).join("");
};
