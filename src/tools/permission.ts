import { escapeGlob, globCoversBelow, matchesGlob } from "../sandbox/glob.ts";
import { includesAct } from "../sandbox/contract.ts";
import type { ClosedPath } from "../sandbox/contract.ts";
import { folderOf } from "../sandbox/paths.ts";
import { isFileAct } from "./acts.ts";
import type { Act, CallAct } from "./acts.ts";
import type { Safety } from "./define-tool.ts";
import { matchesHost } from "./egress/url.ts";

/** Decides what a run may do: a pure function of the call, the rules of team and agent, and the live grants. */

export type Preset = "sandboxed" | "ask" | "open" | "locked";
type Action = "allow" | "ask" | "deny";

/** Rule on either tools or an act, which binds every tool that does it. */
export interface PermissionRule {
  /** Name or glob of tools. */
  readonly tool?: string | undefined;
  readonly act?: Act | undefined;
  readonly match?: string | undefined;
  readonly action: Action;
  /** Date after which the rule no longer holds. */
  readonly expires?: string | undefined;
  readonly reason?: string | undefined;
}

/** Remembered approval, which covers `ask` but never `deny`. */
interface PermissionGrant {
  readonly id: string;
  readonly tool: string;
  readonly pattern: string;
}

export interface Policy {
  readonly preset: Preset;
  readonly rules: readonly PermissionRule[];
  readonly grants: readonly PermissionGrant[];
  /** Hosts of `egress.allow`. */
  readonly hosts: readonly string[];
  /** Whether unsafe calls, and calls of other hosts, ask once the run has read foreign content. */
  readonly afterUntrusted: "off" | "ask";
}

export interface PermissionCall {
  readonly tool: string;
  readonly toolbox: string;
  /** Texts that patterns are matched against: paths, a command line, a URL; all must be allowed. */
  readonly subjects: readonly string[];
  /** Acts of the call, each with its subject; absent for tools that do not declare them. */
  readonly acts?: readonly CallAct[];
  /** Whether the call acts on everything below its subject paths. */
  readonly subtree?: boolean;
  readonly safety: Safety;
  /** Whether its run has read foreign content. */
  readonly untrusted?: boolean;
  /** Present time in milliseconds since the epoch. */
  readonly now: number;
}

interface Verdict {
  readonly verdict: Action;
  /** Rule, grant or preset that decided. */
  readonly by: string;
  readonly reason?: string;
}

type Column = "free" | "workspace" | "listed_host" | "other_host" | "foreign";

const presets: Readonly<Record<Preset, Readonly<Record<Column, Action>>>> = {
  sandboxed: { free: "allow", workspace: "allow", listed_host: "allow", other_host: "ask", foreign: "ask" },
  ask: { free: "allow", workspace: "ask", listed_host: "ask", other_host: "ask", foreign: "ask" },
  open: { free: "allow", workspace: "allow", listed_host: "allow", other_host: "allow", foreign: "allow" },
  locked: { free: "allow", workspace: "deny", listed_host: "deny", other_host: "deny", foreign: "deny" },
};

const storeToolboxes = ["ask", "core", "agents", "state", "tasks", "notes"];
const workspaceToolboxes = ["filesystem", "search", "exec", "git"];
const hostToolboxes = ["http", "browser"];

/** Returns whether the results of a toolbox are foreign content, which may try to instruct the model. */
export const readsForeign = (toolbox: string): boolean => hostToolboxes.includes(toolbox);

/** Target of a verdict: a subject, and the call's act on it, if the tool declares acts. */
interface Target {
  readonly subject: string;
  readonly act?: Act;
}

/** Returns every act of a call, and the further subjects that its patterns are matched against. */
function targetsOf({ tool, subjects, acts = [] }: PermissionCall): readonly [Target, ...Target[]] {
  const others = subjects.filter((subject) => !acts.some(({ subject: named }) => named === subject));
  const [first = { subject: tool }, ...rest] = [...acts, ...others.map((subject) => ({ subject }))];
  return [first, ...rest];
}

/**
 * Returns whether a call's host may be reached without a question. A browser call without an address reaches no
 * host, or one that the team's file chose.
 */
const isListed = ({ hosts }: Policy, { toolbox }: PermissionCall, { subject }: Target): boolean => {
  const url = URL.parse(subject);
  return url === null ? toolbox === "browser" : matchesHost(hosts, url.hostname);
};

function columnOf(policy: Policy, call: PermissionCall, target: Target): Column {
  if (storeToolboxes.includes(call.toolbox)) return "free";
  if (hostToolboxes.includes(call.toolbox))
    return isListed(policy, call, target) ? "listed_host" : "other_host";
  if (call.safety === "read") return "free";
  if (!workspaceToolboxes.includes(call.toolbox)) return "foreign";
  return target.act === "read" ? "free" : "workspace";
}

/** Returns whether a pattern covers an address; the port of its scheme may be missing in the pattern. */
const coversAddress = (pattern: string, subject: string): boolean =>
  matchesGlob(pattern, subject) ||
  matchesGlob(pattern, subject.replace(/^(https:\/\/[^/]+):443\/|^(http:\/\/[^/]+):80\//, "$1$2/"));

/**
 * Returns whether a pattern covers a subject. In command lines `/` is not a separator, and a final ` *` may be
 * missing.
 */
function covers(call: PermissionCall, pattern: string, { subject, act }: Target): boolean {
  if (act === "egress") return coversAddress(pattern, subject);
  if (call.toolbox !== "exec" && act !== "exec") return matchesGlob(pattern, subject);
  const free = { segments: false };
  return (
    matchesGlob(pattern, subject, free) ||
    (pattern.endsWith(" *") && matchesGlob(pattern.slice(0, -2), subject, free))
  );
}

/** Returns whether a pattern can match below a folder: `infra/**` and `a/infra/x` match below `infra` and `a`. */
function reachesBelow(pattern: string, folder: string): boolean {
  if (pattern.endsWith("/**") && matchesGlob(pattern.slice(0, -3), folder)) return true;
  const segments = pattern.split("/");
  const wild = segments.findIndex((segment) => /[*?[\\]/.test(segment));
  const base = wild < 0 ? segments : segments.slice(0, wild);
  return folder === "." || base.join("/").startsWith(`${folder}/`);
}

/** Returns whether a rule names a tool, or an act that the tool does. */
export const namesTool = ({ tool, act }: PermissionRule, name: string, does: readonly Act[]): boolean =>
  tool === undefined
    ? act !== undefined && does.some((done) => includesAct(act, done))
    : matchesGlob(tool, name, { segments: false });

/** Returns when a rule no longer applies, in milliseconds since the epoch; a date includes its day, in UTC. */
export const expiryOf = ({ expires }: PermissionRule): number => {
  if (expires === undefined) return Infinity;
  return Date.parse(expires.includes("T") ? expires : `${expires}T24:00:00Z`);
};

/** Returns whether a rule holds at a time, in milliseconds since the epoch. */
export const isUnexpired = (rule: PermissionRule, now: number): boolean => expiryOf(rule) > now;

/** Returns whether a rule is about this tool or act, and has not expired. */
const isInForce = (rule: PermissionRule, { tool, now }: PermissionCall, { act }: Target): boolean =>
  namesTool(rule, tool, act === undefined ? [] : [act]) && isUnexpired(rule, now);

/**
 * Returns whether a rule in force applies to a target. Shell text cannot be matched safely: a pattern other than
 * `*` restricts every shell call and allows none. A call on a folder acts on all of it: a pattern for a part of it
 * restricts the call, and only a pattern that covers the whole folder allows it.
 */
function applies(call: PermissionCall, rule: PermissionRule, target: Target): boolean {
  if (!isInForce(rule, call, target)) return false;
  const { match, action } = rule;
  if (match === undefined || match === "*") return true;
  if (call.tool === "exec_shell") return action !== "allow";
  if (call.subtree !== true) return covers(call, match, target);
  return action === "allow"
    ? globCoversBelow(match, target.subject)
    : reachesBelow(match, target.subject) || covers(call, match, target);
}

/** Returns the paths that a rule closes in the sandbox, with the act that it names, if any. */
const closedBy = ({ act, match = "*" }: PermissionRule): ClosedPath =>
  act !== undefined && isFileAct(act) ? { act, match } : match;

/**
 * Returns the globs that a call may not touch although it may act on its subjects; null if no rule or grant
 * concerns its paths. Only the sandbox knows the content of a folder and the target of a link.
 */
export function closedPaths(policy: Policy, call: PermissionCall): readonly ClosedPath[] | null {
  if (call.toolbox === "exec" || storeToolboxes.includes(call.toolbox)) return null;
  const targets = targetsOf(call);
  const rules = policy.rules.filter(({ match }) => match !== undefined && match !== "*");
  const inForce = rules.filter((rule) => targets.some((target) => isInForce(rule, call, target)));
  const isGranted = policy.grants.some(({ tool, pattern }) => tool === call.tool && pattern !== "*");
  if (inForce.length === 0 && !isGranted) return null;
  const closing = inForce.filter(
    (rule) => rule.action !== "allow" && !targets.some((target) => applies(call, rule, target)),
  );
  return closing.map(closedBy);
}

/** Returns the description of a rule in verdicts. */
export const describeRule = (rule: PermissionRule): string =>
  `rule ${rule.action} ${rule.tool ?? `act ${rule.act}`}${rule.match === undefined ? "" : ` ${rule.match}`}`;

const byRule = (rule: PermissionRule): Verdict => ({
  verdict: rule.action,
  by: describeRule(rule),
  ...(rule.reason === undefined ? {} : { reason: rule.reason }),
});

/**
 * Returns whether a grant covers a target; a grant of commands covers only calls whose approval would still be
 * remembered so.
 */
function isCovered(call: PermissionCall, pattern: string, target: Target): boolean {
  if (call.toolbox === "exec") return rememberedPattern(call) === pattern;
  return pattern === "*" || covers(call, pattern, target);
}

function grantFor(policy: Policy, call: PermissionCall, target: Target): PermissionGrant | undefined {
  return policy.grants.find(({ tool, pattern }) => tool === call.tool && isCovered(call, pattern, target));
}

/**
 * Returns the preset's verdict if no rule applies. A call that declares acts is judged by them, not by other
 * subjects.
 */
function presetOn(policy: Policy, call: PermissionCall, target: Target): Verdict {
  const isJudgedByActs = target.act === undefined && (call.acts ?? []).length > 0;
  const { preset } = policy;
  const found = isJudgedByActs ? "allow" : presets[preset][columnOf(policy, call, target)];
  return { verdict: found, by: `preset ${preset}` };
}

/** Returns whether an otherwise allowed call asks, because foreign content may have caused it. */
const isDoubtful = (policy: Policy, call: PermissionCall, target: Target): boolean =>
  policy.afterUntrusted === "ask" &&
  call.untrusted === true &&
  (call.safety === "unsafe" || (target.act === "egress" && !isListed(policy, call, target)));

/** Returns the verdict of rules and preset, before grants. */
function ruledOn(policy: Policy, call: PermissionCall, target: Target): Verdict {
  const matching = policy.rules.filter((rule) => applies(call, rule, target));
  const ruled = (action: Action): PermissionRule | undefined =>
    matching.find((rule) => rule.action === action);
  const found = ruled("deny") ?? ruled("ask") ?? ruled("allow");
  const verdict = found === undefined ? presetOn(policy, call, target) : byRule(found);
  const asks = verdict.verdict === "allow" && isDoubtful(policy, call, target);
  return asks ? { verdict: "ask", by: "after_untrusted" } : verdict;
}

function verdictOn(policy: Policy, call: PermissionCall, target: Target): Verdict {
  const verdict = ruledOn(policy, call, target);
  if (verdict.verdict !== "ask") return verdict;
  const grant = grantFor(policy, call, target);
  return grant === undefined ? verdict : { verdict: "allow", by: `grant ${grant.id}` };
}

const severity: Readonly<Record<Action, number>> = { allow: 0, ask: 1, deny: 2 };

/** Returns the strictest verdict; of equal ones the first. */
export const findStrictest = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.reduce((worst, next) => (severity[next.verdict] > severity[worst.verdict] ? next : worst));

/**
 * Returns the verdict on a call: for each act or subject any `deny`, else `ask` unless granted, else `allow`, else
 * the preset; the strictest of them counts.
 */
export const verdict = (policy: Policy, call: PermissionCall): Verdict =>
  findStrictest(targetsOf(call).map((target) => verdictOn(policy, call, target)));

function sharedFolder(subjects: readonly string[]): string {
  const [first = [], ...others] = subjects.map((subject) => folderOf(subject).split("/"));
  const differs = first.findIndex((segment, index) => others.some((other) => other[index] !== segment));
  return (differs < 0 ? first : first.slice(0, differs)).join("/");
}

/** Returns what an approval of this call may remember: a command, host, folder or tool; null if nothing fits. */
export function findRememberable(
  call: PermissionCall,
): { readonly tool: string; readonly pattern: string } | null {
  const pattern = rememberedPattern(call);
  return pattern === null ? null : { tool: call.tool, pattern };
}

const originPattern = (address: string): string | null => {
  const origin = /^[a-z]+:\/\/[^/]+/.exec(address)?.[0];
  return origin === undefined ? null : `${escapeGlob(origin)}/**`;
};

/** Returns the pattern of a remembered command; shell text cannot be matched safely, so it is never remembered. */
function rememberedCommand(tool: string, acts: readonly CallAct[] = []): string | null {
  if (tool === "exec_shell") return null;
  const command = acts.find(({ act }) => act === "exec");
  return command?.argv === undefined ? "*" : commandPattern(command.argv, command);
}

function rememberedPattern({ tool, toolbox, subjects, acts }: PermissionCall): string | null {
  const [subject = ""] = subjects;
  const only = subjects.length === 1 ? escapeGlob(subject) : null;
  if (toolbox === "exec" || tool === "git_commit") return rememberedCommand(tool, acts);
  if (toolbox === "agents" || tool === "handoff") return only;
  if (hostToolboxes.includes(toolbox)) return originPattern(subject);
  if (!workspaceToolboxes.includes(toolbox)) return "*";
  const folder = sharedFolder(subjects);
  return folder === "" || folder === "." ? only : `${escapeGlob(folder)}/**`;
}

/** Determines what an approval of a command may remember. */

/** Programs that run their arguments: their first argument does not reveal what they do. */
const runners: ReadonlySet<string> = new Set(
  [
    "sh ash bash dash fish ksh rbash zsh csh tcsh busybox cmd powershell pwsh",
    "env exec eval command builtin source . xargs parallel find fd entr watch timeout time nohup nice ionice",
    "chroot doas flock runuser script setsid stdbuf strace su sudo systemd-run taskset unshare ssh expect gdb",
    "awk gawk mawk nawk sed gsed ed ex vi vim nvim emacs tar",
    "deno bun lua luajit node nodejs perl php pypy python rscript ruby tclsh tsx ts-node",
    "bunx npm npx pip pipx pnpm pnpx poetry uv uvx yarn cargo go docker kubectl podman gmake just make",
    "alias complete declare export let mapfile readonly test trap typeset [",
  ].flatMap((line) => line.split(" ")),
);

/** Returns a program's name without its folder, version and `.exe`. */
const nameOf = (program: string): string =>
  (program.split("/").at(-1) ?? "")
    .toLowerCase()
    .replace(/\.exe$/, "")
    .replace(/(?<=.)[-\d.]+$/, "");

/** Longest line that a person can be expected to read to its end. */
const longestLine = 4_096;

/** Returns a word as a shell would read it back, so that no two commands share a line. */
const quote = (word: string): string =>
  /^[^\s'"\\<]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Returns the pattern for a command: its program and first argument; the exact line with its standard input and its
 * folder of a program that runs others, or whose first argument is an option or missing. Null: the line is too long
 * for a lasting approval.
 */
const commandPattern = (argv: readonly string[], { stdin, cwd }: CallAct): string | null => {
  if (argv.join(" ").length > longestLine) return null;
  const [program = "", first = "-"] = argv;
  const isExact = runners.has(nameOf(program)) || first.startsWith("-");
  const input = isExact && stdin !== undefined ? ["<<<", quote(stdin)] : [];
  const folder = isExact && cwd !== undefined ? ["<cwd>", quote(cwd)] : [];
  const line = [...argv.map(quote), ...input, ...folder].join(" ");
  if (line.length > longestLine) return null;
  return isExact ? line : `${quote(program)} ${quote(first)} *`;
};
