import * as z from "zod";
import { describeIssue } from "../../schema.ts";
import { environmentName, leastOutput, logFormats } from "../contract.ts";
import type {
  ChangeArguments,
  ChangeOperation,
  ClosedPath,
  GitArguments,
  GitOperation,
} from "../contract.ts";
import { fail } from "./errors.ts";

/** Defines the request bodies of the wire. */

const path = z.string().min(1);
export const pathList = z.array(z.string());
const fileAct = z.enum(["read", "write", "delete"]);
export const closedList: z.ZodType<readonly ClosedPath[]> = z.array(
  z.union([z.string(), z.strictObject({ act: fileAct, match: z.string() })]),
);
const longest = 24 * 60 * 60 * 1000;

export const execBody = z.strictObject({
  argv: z.array(z.string()).min(1),
  cwd: z.string().default("."),
  timeout_ms: z.int().min(1).max(longest).default(120_000),
  exec_id: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,128}$/)
    .optional(),
  stdin: z.string().default(""),
  env: z.record(z.string().regex(environmentName), z.string()).default({}),
  writable_paths: pathList.exactOptional(),
});

export const settingsBody = z.strictObject({
  limits: z
    .strictObject({
      wall: z.int().min(1000).exactOptional(),
      output: z.int().min(leastOutput).exactOptional(),
      processes: z.int().min(1).exactOptional(),
      disk: z.int().min(0).exactOptional(),
      file: z.int().min(0).exactOptional(),
    })
    .optional(),
  env: z.record(z.string().regex(environmentName), z.string()).optional(),
  egress: z.array(z.string()).optional(),
  credentials: z.array(z.unknown()).optional(),
});
export type Settings = z.output<typeof settingsBody>;

export const skillsBody = z.strictObject({
  digest: z.string().min(1).max(128),
  files: z.record(z.string().min(1), z.string()),
});

const common = { writable_paths: pathList.exactOptional() };
const transfer = { source: path, destination: path, overwrite: z.boolean().exactOptional(), ...common };
const newText = z.string().exactOptional();

type ChangeBodies = {
  readonly [O in ChangeOperation]: z.ZodType<
    ChangeArguments[O] & { readonly writable_paths?: readonly string[] }
  >;
};

export const changeBodies: ChangeBodies = {
  mkdir: z.strictObject({ path, ...common }),
  delete: z.strictObject({ path, recursive: z.boolean().exactOptional(), ...common }),
  move: z.strictObject(transfer),
  copy: z.strictObject(transfer),
  edit: z.strictObject({ path, old_text: z.string(), new_text: newText, ...common }),
  patch: z.strictObject({
    path,
    hunks: z
      .array(z.strictObject({ old_text: z.string(), new_text: newText }))
      .min(1)
      .max(100),
    ...common,
  }),
  apply_patch: z.strictObject({ patch: z.string(), ...common }),
};

export const pathBody = z.strictObject({ path: z.string() });

/** Number of entries that one list names. */
const mostListed = 10_000;

export const listBody = z.strictObject({
  path: z.string(),
  after: z.string().optional(),
  before: z.string().optional(),
  limit: z.int().min(1).max(mostListed).default(mostListed),
});
export const keyBody = z.strictObject({ key: z.string().min(1).max(300) });
export const diffBody = z.strictObject({ a: path, b: path });

export const contentBody = z.strictObject({
  pattern: z.string().min(1).max(1000),
  directory: z.string().default("."),
  max_results: z.int().min(1).max(1000).default(100),
  context_lines: z.int().min(0).max(20).default(0),
  literal: z.boolean().default(false),
  ignore_case: z.boolean().default(false),
  glob: z.string().min(1).max(1000).exactOptional(),
});
export type ContentSearch = z.output<typeof contentBody>;

export const filesBody = z.strictObject({
  pattern: z.string().min(1).max(1000),
  directory: z.string().default("."),
  max_results: z.int().min(1).max(2000).default(100),
});
export type FileSearch = z.output<typeof filesBody>;

const termList = z.array(z.string().min(1).max(1000)).max(500).default([]);

export const localizeBody = z.strictObject({
  paths: termList,
  identifiers: termList,
  phrases: termList,
  directory: z.string().default("."),
});
export type LocalizeSearch = z.output<typeof localizeBody>;

const directory = z.string().default(".");
const gitPath = path.max(4096);
const message = z
  .string()
  .regex(/^(?!-)[^\0]*\S/, "a message has text and does not begin with -")
  .max(100_000);

type GitBodies = {
  readonly [O in GitOperation]: z.ZodType<
    GitArguments[O] & { readonly directory: string; readonly writable_paths?: readonly string[] }
  >;
};

export const gitBodies: GitBodies = {
  status: z.strictObject({ directory, short: z.boolean().default(false) }),
  diff: z.strictObject({ directory, staged: z.boolean().default(false), path: gitPath.exactOptional() }),
  log: z.strictObject({
    directory,
    count: z.int().min(1).max(200).default(10),
    format: z.enum(logFormats).default("oneline"),
  }),
  commit: z
    .strictObject({
      directory,
      message,
      files: z.array(gitPath).min(1).max(1000).exactOptional(),
      all: z.boolean().exactOptional(),
      ...common,
    })
    .refine(({ files, all }) => (files === undefined) === (all === true), "name files, or all: one of them"),
};

/** Parses a JSON body; errors name the field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  let raw: unknown;
  try {
    raw = JSON.parse(body);
  } catch {
    return fail("invalid_request", "the body is not JSON");
  }
  const parsed = schema.safeParse(raw, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  return fail("invalid_request", `${field === "" ? "body" : field}: ${issue?.message ?? "invalid"}`);
}
