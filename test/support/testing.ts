import { basename, dirname } from "node:path";
import { onTestFailed, TestRunner } from "vitest";
import type * as z from "zod";
import { eventLine } from "../../src/cli/client/event-line.ts";
import { outputText } from "../../src/cli/client/plain.ts";
import { compileFolder } from "../../src/cli/compile.ts";
import { formatDiagnostics } from "../../src/config/document/diagnostics.ts";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import type { Extensions } from "../../src/index.ts";
import type { DataOf, EventType, StoredEvent } from "../../src/agent/state/events.ts";
import { suggestFor } from "../../src/config/document/suggest.ts";
import { checkScript } from "../../src/model/scripted/check.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { scriptSchema } from "../../src/model/scripted/schema.ts";
import { describeIssue, messageOf } from "../../src/schema.ts";
import { findUnknownKey } from "../../src/tools/suggest.ts";
import type { Bench } from "./bench.ts";
import { openBench } from "./bench.ts";
import { engineOptions } from "./teams.ts";
import { workspaceWith } from "./workspace.ts";

/**
 * This file is `limpet/testing`: a session of a team in plain Node, for the tests beside its team file. Everything is real
 * (configuration, tools, permissions, effects, the workspace and its shell) except the models, which play a script, and
 * the network, which a test stands in for.
 */

export interface SessionOptions {
  /** What the models say, in the form of `scripts/*.yaml`; omitted: what the team's own scripts say. */
  readonly script?: z.input<typeof scriptSchema>;
  /** The agent that the session is opened with; omitted: the team's entry agent. */
  readonly agent?: string;
  /** The files of the workspace, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Values of secrets; those that are omitted have a made-up one. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Answers the requests of tools; omitted: a request fails. */
  readonly fetch?: (request: Request) => Promise<Response> | Response;
}

/** A question or an approval that a session waits for, as `GET …/asks` shows it. */
export interface OpenAsk {
  readonly id: string;
  readonly kind: string;
  readonly [field: string]: unknown;
}

export interface TestSession {
  /** Sends an input and waits until its run has ended or waits for an answer. */
  send(content: string): Promise<void>;
  /** Lists what the session waits for. */
  asks(): readonly OpenAsk[];
  /** Answers the oldest open ask with the body of `POST …/asks/{id}`, and waits as `send` does. */
  answer(decision: { readonly decision: string; readonly [field: string]: unknown }): Promise<void>;
  /** Moves the clock, on which nothing else moves, and lets happen what is due. */
  pass(milliseconds: number): Promise<void>;
  /** Lists all events so far. */
  events(): readonly StoredEvent[];
  /** Lists the data of the events of a type. */
  eventsOf<T extends EventType>(type: T): readonly DataOf<T>[];
  /** Returns what the agent said at the end of its newest run; throws, and says why, if that run has not completed. */
  answerText(): string;
  /** Lists what the models were sent: system prompt, messages, tools. */
  readonly requests: readonly ModelRequest[];
  /** Reads a file of the workspace; null if there is none. */
  readFile(path: string): Promise<string | null>;
}

const compile = async (folder: string) => {
  const compiled = await compileFolder(dirname(dirname(folder)), basename(folder));
  if (compiled.team === null || compiled.draft === null)
    throw new Error(`the team has errors:\n${formatDiagnostics(compiled.diagnostics).join("\n")}`);
  const { extensions } = compiled;
  const own: Extensions = extensions !== undefined && "exports" in extensions ? extensions.exports : {};
  return { team: compiled.team, draft: compiled.draft, secretNames: Object.keys(compiled.secrets), own };
};

/** The window of a model whose provider says none. */
const contextWindow = 200_000;

/** The team with a script in the place of its models. */
const withScript = (
  { team, draft }: Awaited<ReturnType<typeof compile>>,
  given: NonNullable<SessionOptions["script"]>,
): Team => {
  const { data: script, error } = scriptSchema.safeParse(given, { error: describeIssue });
  if (script === undefined) {
    const faults = error.issues.map((issue) => `script ${issue.path.join(".")}: ${messageOf(issue)}`);
    throw new Error(faults.join("\n"));
  }
  const names = {
    agents: new Set(team.agents.map(({ name }) => name)),
    tools: draft.tools,
    servers: new Set(team.mcp_servers.map(({ name }) => name)),
  };
  const [problem] = checkScript(script, names);
  if (problem !== undefined) {
    const { path, message, unknown } = problem;
    const hint = unknown === undefined ? "" : `; ${suggestFor(unknown.name, [...unknown.known])}`;
    throw new Error(`script ${path.join(".")}: ${message}${hint}`);
  }
  const providers = team.providers.map((provider) => ({
    ...provider,
    kind: "scripted",
    script,
    context_window: provider.context_window ?? contextWindow,
  }));
  return { ...team, providers };
};

const refuseRequest = ({ url }: Request): never => {
  throw new Error(`a test reaches nothing outside (${url}); answer it with the option fetch`);
};

/** How many events are shown where a test has failed. */
const shownEvents = 20;

/** The options that there are; a misspelt one would leave the test without what it means. */
const optionNames = ["script", "agent", "files", "secrets", "fetch"] satisfies (keyof SessionOptions)[];

/** Types of events that only something amiss brings. */
const faultTypes: readonly EventType[] = [
  "error",
  "ask_expired",
  "input_returned",
  "loop_detected",
  "budget_reached",
];

const isFault = (event: StoredEvent): boolean => {
  if (event.type === "tool_call_end") return event.data.outcome !== "ok";
  if (event.type === "verify") return !["started", "passed", "skipped"].includes(event.data.state);
  return faultTypes.includes(event.type);
};

/** Describes a fault: a call or an error with its whole text, anything else in a line. */
const faultLine = (event: StoredEvent): string | null => {
  const { seq, type, data } = event;
  if (type === "tool_call_end") return `${seq} ${data.tool} ${data.outcome}: ${outputText(data.output)}`;
  return type === "error" ? `${seq} error ${data.code}: ${data.message}` : eventLine(event, true);
};

/** Says of a line of the log where a tool or a hook of the team threw; null for any other line. */
const thrownLine = ({ tool, hook, frames }: Bench["logs"][number]): string | null => {
  const [, place] = /[ (/](config\/[^"]+?:\d+:\d+)/.exec(JSON.stringify(frames)) ?? [];
  return place === undefined ? null : `${String(tool ?? hook)} threw at ${place}`;
};

/** Lists what failed in a session, in whichever run, and its last events. */
const listEvents = (bench: Bench): readonly string[] => {
  const events = bench.events();
  const thrown = bench.logs.flatMap((line) => thrownLine(line) ?? []);
  const faults = [...events.filter(isFault).flatMap((event) => faultLine(event) ?? []), ...thrown];
  const lines = events.slice(-shownEvents).flatMap((event) => eventLine(event, true) ?? []);
  return [...(faults.length === 0 ? [] : ["what failed:", ...faults]), "the last events:", ...lines];
};

/** Says why the newest run has not completed; null if it has. */
const explainRun = (events: readonly StoredEvent[], asks: readonly OpenAsk[]): string | null => {
  const last = events.findLast(
    ({ type, thread }) => thread === "main" && (type === "run_start" || type === "run_end"),
  );
  if (last === undefined) return "no run has begun: send an input first";
  const waiting = asks.map(({ id, kind }) => `${kind} ${id}`).join(", ");
  if (last.type !== "run_end") return `the run has not ended; it waits for ${waiting || "time to pass"}`;
  const { state, reason, error } = last.data;
  return state === "completed"
    ? null
    : `the run ${state} (${reason}): ${error?.detail ?? "it has no problem"}`;
};

/** Prints, beside what a test expected in vain, what became of the run. */
const explainOnFailure = (explain: () => string): void => {
  if (TestRunner.getCurrentTest() !== undefined) onTestFailed(() => console.error(explain()));
};

/** Opens a session of the team in `folder`, which is `import.meta.dirname` of a test beside `team.yaml`. */
export const openSession = async (folder: string, options: SessionOptions = {}): Promise<TestSession> => {
  const unknown = findUnknownKey(options, optionNames);
  if (unknown !== null) throw new Error(`openSession: ${unknown}`);
  const compiled = await compile(folder);
  const { own, secretNames } = compiled;
  const team = options.script === undefined ? compiled.team : withScript(compiled, options.script);
  const secrets = Object.fromEntries(secretNames.map((name) => [name, `made-up-value-of-${name}`]));
  const workspace = await workspaceWith(options.files);
  const answerRequest = options.fetch ?? refuseRequest;
  const engine = createEngine(
    engineOptions(team, {
      env: { ...secrets, ...options.secrets, ...workspace.env },
      ...own,
      profiles: own.providers ?? [],
      fetch: async (input, init) => answerRequest(new Request(input, init)),
    }),
  );
  const bench = openBench({ engine });
  bench.ok("create", options.agent === undefined ? {} : { agent: options.agent });
  const asks = (): readonly OpenAsk[] =>
    bench.ok("asks", { status: "open" })["data"] as unknown as readonly OpenAsk[];
  const eventsOf = <T extends EventType>(type: T): readonly DataOf<T>[] =>
    bench.events().flatMap((event) => (event.type === type ? [event.data as DataOf<T>] : []));
  const explain = (head: string): string => [head, ...listEvents(bench)].join("\n");
  explainOnFailure(() => explain(explainRun(bench.events(), asks()) ?? "the run completed"));
  return {
    send: async (content) => {
      bench.send(content);
      await bench.idle();
    },
    asks,
    answer: async (decision) => {
      const [oldest] = asks();
      if (oldest === undefined) throw new Error("the session waits for no answer");
      bench.ok("answer", { ask: oldest.id, ...decision });
      await bench.idle();
    },
    pass: (milliseconds) => bench.pass(milliseconds),
    events: () => bench.events(),
    eventsOf,
    answerText: () => {
      const reason = explainRun(bench.events(), asks());
      if (reason !== null) throw new Error(explain(reason));
      return eventsOf("run_end").at(-1)?.result.text ?? "";
    },
    requests: bench.requests,
    readFile: (path) => workspace.text(path),
  };
};
