import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { createNearestFinder } from "../../config/document/suggest.ts";

/**
 * Filters wrangler's output: output of the Worker and the build is shown, wrangler's own is not, unless it is an
 * error.
 */

type LineMode = "hide" | "show" | "log" | "build" | "fail" | "lookup";

/** Beginnings of lines with the treatment of the lines that follow, up to the next beginning. */
const beginnings: readonly (readonly [RegExp, LineMode])[] = [
  [/^\[custom build\] ?/, "build"],
  [/^\[wrangler:(info|warn|debug|inf|wrn|dbg)\]/, "hide"],
  [/^\[wrangler:err(or)?\] ?/, "show"],
  // A line that the code of a Worker wrote begins with the Worker's name.
  [/^\[[\w-]+\] /, "log"],
  [
    /^▲ \[WARNING\] (Missing required secrets|Processing .* configuration|NOSENTRY|Multiple environments)/,
    "hide",
  ],
  [/^▲ (\[WARNING\] ?)?/, "show"],
  // For a failed build wrangler prints the process as an object.
  [/^✘ \[ERROR\] .*Process exited with non-zero status/, "hide"],
  // These errors end wrangler; the cause is reported when it is certain (explainSettingsFault).
  [/^✘ \[ERROR\] (Missing entry-point|Processing wrangler\.toml configuration|Unknown arguments?:)/, "hide"],
  [/^✘ \[ERROR\] Cannot (set run_worker_first without|use assets with a binding in)/, "hide"],
  [/^✘ \[ERROR\] .*failed to lookup address information/, "lookup"],
  [/^( *If you think this is a bug|🪵)/u, "hide"],
  [/^✘ \[ERROR\] Running custom build .* failed\. .*/, "fail"],
  [/^✘ (\[ERROR\] ?)?/, "show"],
  [/^The file .* changed, restarting build/, "hide"],
  [/^(⎔| ⛅|─|Using |Service bindings,|Your Worker |.* has access to the following bindings)/, "hide"],
];

/** Wrangler's line once changed code or variables are in use. */
const reloaded = "⎔ Local server updated and ready";

/** Matches output of the build that is noise while the server starts, but news after a change. */
const buildNoise = /^(Running: .*|built the shell .*|)$/;
const buildNews = /^(?:built (\S+) into |(\S+) has not changed )/;
const buildKept = /^\S+ has errors; its last good build is still served$/;

/** Explanation of the runtime's error about an unknown host. */
const lookupFailed = "A host was not found by its name (DNS): is the name right, and is this machine online?";

const ownTraceId = "11".repeat(16);

/** Header by which the Worker's log identifies requests of the start itself. */
export const ownTrace = { traceparent: `00-${ownTraceId}-${"11".repeat(8)}-00` };

interface LogFields {
  readonly msg: string;
  readonly level: string;
  readonly trace_id?: string;
  readonly method?: string;
  readonly route?: string | null;
  readonly status?: number;
  readonly code?: string | null;
  readonly session?: string;
  readonly run?: string;
  readonly tool?: string;
  readonly hook?: string;
  readonly step?: string;
  readonly agent?: string;
  readonly toolbox?: string;
  readonly reason?: string;
  readonly model?: string;
  readonly message?: string;
}

const parseLog = (text: string): LogFields | null => {
  if (!text.startsWith('{"at":')) return null;
  try {
    return JSON.parse(text) as LogFields;
  } catch {
    return null;
  }
};

/** Explanation of a failed build: wrangler holds every request until a build succeeds. */
const buildFailed = "The build itself failed: the server answers again after the next change that builds.";

const askedFor = (method: string, status: number): string => {
  if (status === 404) return `${method} of an unknown address`;
  return status === 405 ? `${method} of an address that does not accept it` : method;
};

/** Returns the remedy for a refusal that a browser hides from its page. */
const wayOut = (code: string): string =>
  code === "origin_not_allowed" ? "; src/api/guide.md shows how the page's server passes /v1 on" : "";

/** Names of the lines about what a team's own code threw. */
const threw: readonly (string | undefined)[] = ["tool_threw", "hook_threw"];

/** Returns the place of a stack's line, if it is in the code of a team. */
const placeInTeam = (frame: string): string | null =>
  /^\s+at .*\bfile:.*\/(config\/.+?:\d+:\d+)\)?$/.exec(frame)?.[1] ?? null;

/** Explains that the tools of an MCP server are missing, and why. */
const describeServer = ({ step = "", code, message = "" }: LogFields): string => {
  const state = code === "quarantined" ? "offers tools that nobody approved" : "cannot be used";
  return `The MCP server ${step} ${state}: ${message === "" ? "its session's events say why" : message}`;
};

/** Descriptions, by name, of warnings outside requests. */
const warnings: Readonly<Partial<Record<string, (line: LogFields) => string>>> = {
  tool_threw: ({ tool, message }) => `${tool} threw: ${message}`,
  hook_threw: ({ hook, message }) => `${hook} threw: ${message}`,
  mcp_server: describeServer,
  toolbox_unavailable: ({ agent, toolbox, reason }) => `${agent} cannot use ${toolbox}: ${reason}`,
  error: ({ run = "", session = "a session", code, message }) =>
    [`${run} of ${session}`.replace(/^ of /, ""), code, message]
      .filter((part) => part !== undefined)
      .join(": "),
  step: ({ step, session, model = "a model", code }) => `${step} of ${session}: ${model} failed (${code})`,
};

/** Describes a failed request; omits successful ones, and those of the start itself. */
const formatRequest = ({
  method = "",
  route,
  status = 0,
  code,
  trace_id: trace,
}: LogFields): string | null => {
  if (trace === ownTraceId || status < 400) return null;
  const cause = code ?? "";
  return `${status} ${route ?? askedFor(method, status)} ${cause}`.trimEnd() + wayOut(cause);
};

/** Formats the errors of the Worker's log. */
const formatLine = (line: LogFields, text: string): string | null => {
  if (line.msg === "request") return formatRequest(line);
  if (line.level === "info" || line.level === "debug") return null;
  return warnings[line.msg]?.(line) ?? text;
};

/**
 * Creates a filter of log lines; below what code of a team threw it shows only the first place of its stack in the team's
 * own code.
 */
const createLogFormat = (): ((text: string) => string | null) => {
  let stack: "none" | "open" | "placed" = "none";
  return (text) => {
    if (stack !== "none" && /^\s+at /.test(text)) {
      const place = stack === "open" ? placeInTeam(text) : null;
      if (place === null) return null;
      stack = "placed";
      return `  at ${place}`;
    }
    const line = parseLog(text);
    stack = threw.includes(line?.msg) ? "open" : "none";
    return line === null ? text : formatLine(line, text);
  };
};

/** Remembers the warnings of a build: one that the build before gave, too, is no news. */
const createWarningFilter = () => {
  let before = new Set<string>();
  let found = new Set<string>();
  let isKnown = false;
  return {
    /** Returns whether a line is part of a known warning: its first, or a hint below it. */
    hides: (text: string): boolean => {
      if (text.startsWith(" ")) return isKnown;
      isKnown = /^\S+:\d+:\d+ warning /.test(text) && before.has(text);
      found.add(text);
      return isKnown;
    },
    endBuild: (): void => {
      [before, found] = [found, new Set()];
    },
  };
};

/** Callbacks for news in the output. */
export interface OutputNews {
  /**
   * Called when the server continues with changed code or variables; `rebuilt` is the team whose new build it
   * serves.
   */
  readonly onReload: (rebuilt: string | null) => void;
}

/** Creates a filter of one stream's lines, which returns the text to show for a line, or null for nothing. */
export const createOutputFilter = ({ onReload }: OutputNews): ((line: string) => string | null) => {
  let mode: LineMode = "hide";
  const seen = new Set<string>();
  const known = createWarningFilter();
  let hasDiagnostics = false;
  /** Team whose new build is not served yet; the first build is not news, nor is one that a mistake followed. */
  let rebuilt: string | null = null;
  const formatBuild = (text: string): string | null => {
    const [, built, unchanged] = buildNews.exec(text) ?? [];
    const team = built ?? unchanged;
    if (team === undefined) {
      const isNoise = buildNoise.test(text) || known.hides(text);
      hasDiagnostics ||= !isNoise;
      if (buildKept.test(text)) {
        rebuilt = null;
        known.endBuild();
      }
      return isNoise ? null : text;
    }
    known.endBuild();
    const isFirst = !seen.has(team);
    seen.add(team);
    const isValid = hasDiagnostics && !isFirst;
    hasDiagnostics = false;
    if (built === undefined) return isValid ? `${team} is valid and served as before` : null;
    if (!isFirst) rebuilt = team;
    return null;
  };
  const noticeReload = (): null => {
    onReload(rebuilt);
    rebuilt = null;
    return null;
  };
  const formatLog = createLogFormat();
  const tellLookup = (): string | null => {
    if (seen.has(lookupFailed)) return null;
    seen.add(lookupFailed);
    return lookupFailed;
  };
  const tell: Readonly<Partial<Record<LineMode, () => string | null>>> = {
    fail: () => buildFailed,
    lookup: tellLookup,
  };
  return (given) => {
    const line = stripVTControlCharacters(given);
    if (line.startsWith(reloaded)) return noticeReload();
    const [pattern, next] = beginnings.find(([known]) => known.test(line)) ?? [];
    if (pattern !== undefined && next !== undefined) mode = next;
    const text = pattern === undefined || mode === "hide" ? line : line.replace(pattern, "");
    const sentence = tell[mode];
    if (sentence !== undefined) return pattern === undefined ? null : sentence();
    if (mode === "hide" || text === "") return null;
    return mode === "build" ? formatBuild(text) : formatLog(text);
  };
};

/** Number of the last lines that are kept, to be shown when the server ends before it was ready. */
const keptLines = 40;

/** Shows the filtered lines of a stream; returns its last lines, unfiltered. */
export const relayOutput = (
  from: Readable,
  show: (line: string) => void,
  news: OutputNews,
): readonly string[] => {
  const kept: string[] = [];
  const filter = createOutputFilter(news);
  createInterface({ input: from }).on("line", (line) => {
    kept.push(line);
    if (kept.length > keptLines) kept.shift();
    const shown = filter(line);
    if (shown !== null) show(shown);
  });
  return kept;
};

const errorMark = "✘ [ERROR] ";

/** Returns the lines from the last error on, without colours and without the mark of an error. */
const lastErrorOf = (lines: readonly string[]): readonly string[] => {
  const plain = lines.map((line) => stripVTControlCharacters(line));
  const at = plain.findLastIndex((line) => line.startsWith(errorMark));
  return at < 0 ? [] : [(plain[at] ?? "").slice(errorMark.length), ...plain.slice(at + 1)];
};

/** Returns whether the last error that wrangler printed is about its settings files. */
export const isSettingsFault = (lines: readonly string[]): boolean =>
  /^(Missing entry-point|Processing .* configuration|Invalid TOML document)/.test(
    lastErrorOf(lines)[0] ?? "",
  );

/** Options that `npm start` describes; any other is wrangler's. */
export const startOptions: readonly string[] = ["env", "port", "ip", "persist-to"];

const describeUnknownOption = (name: string): string => {
  const near = createNearestFinder(startOptions)(name);
  const meant = near === null ? "" : `; did you mean --${near}?`;
  const known = startOptions.map((each) => `--${each}`).join(", ");
  return `There is no option --${name}${meant}\nKnown are ${known}, and what npx wrangler dev --help lists.`;
};

/**
 * Returns the fault of wrangler.toml, or of an option, that ended wrangler; null if it has already been shown, or
 * is something else.
 */
export const explainSettingsFault = (lines: readonly string[]): string | null => {
  const [first = "", ...more] = lastErrorOf(lines);
  if (/^(Missing entry-point|Cannot (set run_worker_first|use assets))/.test(first))
    return "wrangler.toml names no entry point: main is missing from it, or from the team's environment.";
  const [, unknown] = /^Unknown arguments?: ([^,\s]+)/.exec(first) ?? [];
  if (unknown !== undefined) return describeUnknownOption(unknown);
  if (!first.startsWith("Processing wrangler.toml configuration")) return null;
  const details = more.filter((line) => /^\s+\S/.test(line) && !line.includes("If you think this is a bug"));
  return [first, ...details].join("\n");
};
