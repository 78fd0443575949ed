import * as z from "zod";
import { count, duration, name, size, text } from "../../schema.ts";

/** Defines the sections for a team's operator: access, deliveries, logs. Durations are milliseconds. */

const originSchema = () =>
  z.string().refine(
    (value) => {
      const url = URL.parse(value);
      return url !== null && /^https?:$/.test(url.protocol) && url.origin === value;
    },
    { error: "invalid_url: write an origin like https://app.example.com, without path" },
  );

const label = String.raw`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`;

const hostSchema = () =>
  z
    .string()
    .max(253)
    .regex(
      new RegExp(String.raw`^${label}(\.${label})*$`),
      "invalid_value: write a host name like agents.example.com in small letters, without scheme, port, path or *",
    );

const httpsUrlSchema = () =>
  z.string().refine(
    (value) => {
      const url = URL.parse(value.replaceAll(/\$\{[^}]*\}/g, "x"));
      return url?.protocol === "https:" && url.username === "" && url.password === "";
    },
    { error: "invalid_url: write an absolute https address without user and password" },
  );

export const accessSchema = z.strictObject({
  origins: z.array(originSchema()).max(100).default([]).describe("Web origins that browsers may call from."),
  hosts: z
    .array(hostSchema())
    .max(100)
    .default([])
    .describe("Host names of this deployment; its agents do not call them."),
  token_ttl: duration({ min: "1m", max: "60m" }).prefault("15m").describe("Lifetime of a browser token."),
  rate_limit: z
    .strictObject({ rpm: count(1).default(600).describe("Requests per minute and key.") })
    .prefault({})
    .describe("Request limit."),
});

export const webhookSchema = z.strictObject({
  name: name().describe("Name of the webhook."),
  url: httpsUrlSchema().describe("Address that is called."),
  events: z.array(text(64, 1)).min(1).max(100).describe("Event types to deliver."),
  secret: z.string().optional().describe("Signing secret, as a reference."),
  include_content: z.boolean().default(false).describe("Whether texts are included."),
});

const cronField = String.raw`[0-9A-Za-z*,/-]+`;

export const scheduleSchema = z.strictObject({
  name: name().describe("Name of the schedule."),
  cron: z
    .string()
    .regex(
      new RegExp(String.raw`^${cronField}( ${cronField}){4}$`),
      "invalid_value: write five cron fields: minute hour day month weekday",
    )
    .describe("Five-field cron expression."),
  timezone: text(64, 1).default("UTC").describe("IANA time zone."),
  agent: name().optional().describe("Agent that runs; omitted: the entry agent."),
  session_ref: text(128, 1).optional().describe("Session to use; omitted: a new one each time."),
  input: text(64_000, 1).describe("Message that is sent."),
  light: z.boolean().default(false).describe("Use the minimal prompt."),
  overlap: z
    .enum(["skip", "queue", "parallel"])
    .default("skip")
    .describe("What happens while an earlier one still runs."),
});

export const observabilitySchema = z.strictObject({
  log_level: z
    .enum(["error", "warn", "info", "debug"])
    .default("info")
    .describe("Least level that is logged."),
  content: z
    .enum(["none", "redacted", "full"])
    .default("none")
    .describe("Whether logs and traces hold texts."),
  metrics: z.boolean().default(true).describe("Write metrics where a dataset is bound."),
});

const maskedNames = ["authorization", "cookie", "password", "token", "secret", "api_key"];

export const redactionSchema = z.strictObject({
  names: z
    .array(text(64, 1))
    .max(200)
    .default(maskedNames)
    .describe("Keys and headers masked in logs and traces."),
});

export const debugSchema = z.strictObject({
  raw: z
    .enum(["off", "events"])
    .default("off")
    .describe("events shows providers' frames live to watchers with debug:read."),
});

export const contextSchema = z.strictObject({
  max_chars: count().default(32_000).describe("Characters of project context."),
  external: z.boolean().default(false).describe("Read AGENTS.md and similar files from the workspace."),
  max_external_file_size: size().prefault(524_288).describe("Bytes of one such file."),
});

export const reflectionsSchema = z.strictObject({
  scope: z.enum(["session", "tenant"]).default("tenant").describe("Who shares reflections."),
  ttl: duration().prefault("30d").describe("How long they are kept."),
});

export const tasksSchema = z.strictObject({
  on_dependency_failure: z
    .enum(["block", "fail", "ignore"])
    .default("block")
    .describe("How a failed dependency affects a task."),
});

export const notesSchema = z.strictObject({
  scope: z.enum(["session", "agent", "tenant"]).default("session").describe("Who shares notes."),
});
