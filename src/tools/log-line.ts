import { hexOf, sha256 } from "../sandbox/sha256.ts";
import type { Redactor } from "./redaction.ts";

/** Writes log lines: JSON objects without known secrets and without the values of masked names. */

const levels = ["debug", "info", "warn", "error"] as const;
/** Level of a line: `error` means that someone must act, `warn` that the problem will pass. */
export type LogLevel = (typeof levels)[number];

/** Returns whether a line of this level is written where `least` is the lowest level (`observability.log_level`). */
export const isLogged = (level: LogLevel, least: LogLevel): boolean =>
  levels.indexOf(level) >= levels.indexOf(least);

/** Returns the hash that stands for a tenant in logs. */
export const tenantHash = (tenant: string): string => hexOf(sha256(`tenant ${tenant}`).subarray(0, 8));

/** Formats fields as one line. */
export type LogLine = (fields: Readonly<Record<string, unknown>>) => string;

/** Returns the lines of an error's stack that are places, without lines of its message. */
export const stackFrames = ({ stack = "", message }: Error): readonly string[] =>
  stack
    .replace(message, "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));

/** Returns the place and code of a fault, without its message, which may quote user text. */
export const describeFault = (fault: unknown): Readonly<Record<string, unknown>> => {
  if (!(fault instanceof Error)) return { fault: typeof fault };
  const [database] = /\bSQLITE_[A-Z_]+/.exec(fault.message) ?? [];
  const code = "code" in fault && typeof fault.code === "string" ? fault.code : database;
  return {
    fault: fault.name,
    ...(code === undefined ? {} : { code }),
    frames: stackFrames(fault)
      .slice(0, 4)
      .map((line) => line.trim()),
  };
};

const mask = "[masked]";

/** Returns a pattern for a name, in any case and with words joined by `-` or `_`. */
const namePattern = (name: string): string =>
  name.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`).replace(/[-_]/g, "[-_]?");

/** Creates a mask of keys that end with a name, and of the values that follow a name in texts. */
const createMask = (names: readonly string[]): ((fields: unknown) => unknown) => {
  if (names.length === 0) return (fields) => fields;
  const one = `(?:${names.map(namePattern).join("|")})`;
  const key = new RegExp(`(?:^|[^a-z0-9])${one}$`, "i");
  const pair = new RegExp(
    String.raw`((?:^|[^a-z0-9])${one}["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&}]+`,
    "gi",
  );
  const masked = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(pair, `$1${mask}`);
    if (Array.isArray(value)) return value.map(masked);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, key.test(name) ? mask : masked(each)]),
    );
  };
  return masked;
};

/** Creates the formatter of log lines; `names` are the keys and headers that `redaction.names` masks. */
export const createLogLine = (redactor: Redactor, names: readonly string[]): LogLine => {
  const masked = createMask(names);
  return (fields) => JSON.stringify(redactor.value(masked(fields)));
};
