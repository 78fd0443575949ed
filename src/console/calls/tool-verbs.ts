import type { CallEntry } from "../../client/transcript.ts";
import { countLines, countOf } from "../parts/format.ts";
import type { IconName } from "../parts/icon-paths.ts";
import type { Fields } from "../parts/json.ts";
import { fieldsOf, listOf, numberOf, parseJson, textOf } from "../parts/json.ts";

/** The verbs of tools: what their calls do, which argument is worth showing, and what came of them. */

export interface Verbs {
  readonly icon: IconName;
  /** What may happen, happened, happens, and did not: "run", "Ran", "Running", "Not run". */
  readonly infinitive: string;
  readonly past: string;
  readonly present: string;
  readonly denied: string;
  /** The argument worth showing; null shows the first text among the arguments. */
  readonly subject?: (input: Fields) => string | null;
  /** The argument is prose, not code. */
  readonly prose?: boolean;
  readonly result?: (output: string, call: CallEntry) => string | null;
}

const field =
  (...names: readonly string[]) =>
  (input: Fields): string | null =>
    names.map((name) => textOf(input[name])).find((text) => text !== null) ?? null;

const quoteArgument = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replace(/(["\\$`])/g, "\\$1")}"`;

/** Returns the command line of a call that runs a program or a script. */
export const commandOf = (input: Fields): string | null => {
  const script = textOf(input["script"]);
  if (script !== null) return script;
  const command = textOf(input["command"]);
  if (command === null) return null;
  const args = listOf(input["args"]).map((each) => quoteArgument(textOf(each) ?? JSON.stringify(each)));
  return [command, ...args].join(" ");
};

/** Says how a command ended; null if it did not end by itself. */
export const exitOf = (_: string, { details, outcome }: CallEntry): string | null => {
  const code = numberOf(fieldsOf(details)["exit_code"]);
  const reason = textOf(fieldsOf(details)["reason"]);
  if (code !== null) return code === 0 ? "worked" : `failed, exit ${code}`;
  if (reason === "timeout") return "ran out of time";
  return outcome === "error" ? null : "";
};

const lines = (output: string): string => countOf(countLines(output), "line");

/** Counts what a list says that it has, or has. */
const countIn =
  (one: string, many?: string) =>
  (output: string): string | null => {
    const value = parseJson(/^[^\n]*/.exec(output)?.[0] ?? "") ?? parseJson(output);
    const total = numberOf(fieldsOf(value)["total"]);
    if (total !== null) return countOf(total, one, many);
    return Array.isArray(value) ? countOf(value.length, one, many) : null;
  };

const changeResult = (_: string, { changes }: CallEntry): string | null => (changes.length === 0 ? null : "");

/** The tenses of a verb, besides what is said of a call that was refused. */
const say = (infinitive: string, past: string, present: string) => ({ infinitive, past, present });

const read = { icon: "file", ...say("read", "Read", "Reading"), denied: "Not read" } as const;
const wrote = { icon: "pencil", ...say("write", "Wrote", "Writing"), denied: "Not written" } as const;
const edited = { icon: "pencil", ...say("edit", "Edited", "Editing"), denied: "Not edited" } as const;
const ran = { icon: "command", ...say("run", "Ran", "Running"), denied: "Not run" } as const;
const searched = {
  icon: "search",
  ...say("search", "Searched", "Searching"),
  denied: "Not searched",
} as const;
const called = { icon: "branch", ...say("call", "Called", "Calling"), denied: "Not called" } as const;
const tasks = {
  icon: "list",
  ...say("change task", "Changed task", "Changing task"),
  denied: "Task not changed",
} as const;

const onPage = { icon: "globe", subject: field("selector") } as const;

const path = field("path", "file", "directory");

/** The folder that all paths begin in has no name of its own. */
export const wholeWorkspace = "the workspace";

const folder = (input: Fields): string => {
  const named = path(input) ?? "";
  return /^\.?\/?$/.test(named) ? wholeWorkspace : named;
};

const toolVerbs: Readonly<Record<string, Verbs>> = {
  exec_run: { ...ran, subject: commandOf, result: exitOf },
  exec_shell: { ...ran, subject: commandOf, result: exitOf },
  exec_poll: { ...ran, ...say("look at command", "Looked at command", "Looking at command"), result: exitOf },
  exec_kill: { ...ran, ...say("end command", "Ended command", "Ending command"), denied: "Not ended" },
  fs_read: { ...read, subject: path, result: lines },
  fs_read_lines: {
    ...read,
    subject: path,
    result: (output) => {
      const [, from, to] = /^\[Lines (\d+)-(\d+) of/.exec(output) ?? [];
      return from === undefined ? lines(output) : `lines ${from}–${to}`;
    },
  },
  fs_list: {
    ...read,
    icon: "folder",
    ...say("list", "Listed", "Listing"),
    subject: folder,
    result: countIn("entry", "entries"),
  },
  fs_stat: { ...read, ...say("look at", "Looked at", "Looking at"), subject: path },
  fs_write: { ...wrote, subject: path, result: changeResult },
  fs_edit: { ...edited, subject: path, result: changeResult },
  fs_patch: { ...edited, subject: path, result: changeResult },
  fs_mkdir: {
    ...wrote,
    icon: "folder",
    ...say("make folder", "Made folder", "Making folder"),
    subject: path,
  },
  apply_patch: {
    ...edited,
    ...say("change files", "Changed files", "Changing files"),
    denied: "Not changed",
    subject: () => "",
    result: changeResult,
  },
  fs_delete: { ...edited, ...say("delete", "Deleted", "Deleting"), denied: "Not deleted", subject: path },
  fs_move: {
    ...edited,
    ...say("move", "Moved", "Moving"),
    denied: "Not moved",
    subject: field("from", "source", "path"),
  },
  fs_copy: {
    ...edited,
    ...say("copy", "Copied", "Copying"),
    denied: "Not copied",
    subject: field("from", "source", "path"),
  },
  fs_diff: { ...read, ...say("compare", "Compared", "Comparing"), subject: path, result: lines },
  search_content: { ...searched, subject: field("pattern"), result: countIn("hit") },
  search_files: { ...searched, subject: field("pattern"), result: countIn("file") },
  git_status: { ...ran, subject: () => "git status", result: lines },
  git_log: { ...ran, subject: () => "git log", result: () => "" },
  git_diff: { ...ran, subject: () => "git diff", result: lines },
  git_commit: {
    ...ran,
    ...say("commit", "Committed", "Committing"),
    denied: "Not committed",
    subject: field("message"),
    prose: true,
    result: () => "",
  },
  ask_user: {
    icon: "question",
    ...say("ask", "Asked", "Asking"),
    denied: "Not asked",
    subject: field("question"),
    prose: true,
  },
  http_fetch: {
    icon: "globe",
    ...say("fetch", "Fetched", "Fetching"),
    denied: "Not fetched",
    subject: field("url"),
  },
  spawn_agent: { ...called, subject: field("agent") },
  spawn_agents: called,
  delegate_to_agent: { ...called, subject: field("agent") },
  dispatch_tasks: { ...called, ...say("dispatch", "Dispatched", "Dispatching"), denied: "Not dispatched" },
  check_children: {
    ...called,
    ...say("look at called agents", "Looked at called agents", "Looking at called agents"),
    subject: () => "",
  },
  list_agents: { ...called, ...say("list agents", "Listed agents", "Listing agents"), subject: () => "" },
  read_note: {
    ...read,
    icon: "note",
    ...say("read note", "Read note", "Reading note"),
    subject: field("name"),
  },
  write_note: {
    ...wrote,
    icon: "note",
    ...say("write note", "Wrote note", "Writing note"),
    subject: field("name"),
    result: () => "",
  },
  list_notes: {
    ...read,
    icon: "note",
    ...say("list notes", "Listed notes", "Listing notes"),
    subject: () => "",
  },
  shared_state_set: {
    ...wrote,
    icon: "box",
    ...say("set shared value", "Set shared value", "Setting shared value"),
    denied: "Not set",
    subject: field("key"),
    result: () => "",
  },
  shared_state_get: {
    ...read,
    icon: "box",
    ...say("read shared value", "Read shared value", "Reading shared value"),
    subject: field("key"),
    result: () => "",
  },
  shared_state_list: {
    ...read,
    icon: "box",
    ...say("list shared values", "Listed shared values", "Listing shared values"),
    subject: () => "",
  },
  shared_state_delete: {
    ...edited,
    icon: "box",
    ...say("delete shared value", "Deleted shared value", "Deleting shared value"),
    subject: field("key"),
    result: () => "",
  },
  shared_tasks_create: {
    ...tasks,
    ...say("add task", "Added task", "Adding task"),
    denied: "Task not added",
    subject: field("title"),
    prose: true,
    result: () => "",
  },
  shared_tasks_list: {
    ...tasks,
    ...say("list tasks", "Listed tasks", "Listing tasks"),
    subject: () => "",
    result: countIn("task"),
  },
  shared_tasks_get: {
    ...tasks,
    ...say("look at task", "Looked at task", "Looking at task"),
    subject: field("id"),
    result: () => "",
  },
  shared_tasks_claim: {
    ...tasks,
    ...say("take task", "Took task", "Taking task"),
    subject: field("id"),
    result: () => "",
  },
  shared_tasks_update: { ...tasks, subject: field("id"), result: () => "" },
  shared_tasks_cancel: {
    ...tasks,
    ...say("cancel task", "Cancelled task", "Cancelling task"),
    subject: field("id"),
    result: () => "",
  },
  browser_navigate: {
    icon: "globe",
    ...say("open", "Opened", "Opening"),
    denied: "Not opened",
    subject: field("url"),
  },
  browser_search: { ...searched, icon: "globe", subject: field("query") },
  browser_click: { ...onPage, ...say("click", "Clicked", "Clicking"), denied: "Not clicked" },
  browser_type: { ...onPage, ...say("type", "Typed", "Typing"), denied: "Not typed", subject: field("text") },
  browser_extract: { ...onPage, ...say("read page", "Read page", "Reading page"), denied: "Not read" },
  browser_screenshot: {
    ...onPage,
    ...say("take picture", "Took picture", "Taking picture"),
    denied: "Not taken",
  },
  memory_search: {
    ...searched,
    ...say("remember", "Remembered", "Remembering"),
    subject: field("query"),
    prose: true,
  },
  memory_append: {
    ...wrote,
    icon: "note",
    ...say("keep in memory", "Kept in memory", "Keeping in memory"),
    subject: field("text"),
    prose: true,
    result: () => "",
  },
  load_skill: {
    ...read,
    icon: "note",
    ...say("read skill", "Read skill", "Reading skill"),
    subject: field("name"),
  },
  task_complete: {
    ...called,
    icon: "reply",
    ...say("report back", "Reported back", "Reporting back"),
    subject: () => "",
  },
  recall: { ...read, ...say("read again", "Read again", "Reading again") },
};

/** Returns the verbs of a tool; undefined if the console knows it by its name only. */
export const verbsOf = (tool: string): Verbs | undefined =>
  Object.hasOwn(toolVerbs, tool) ? toolVerbs[tool] : undefined;
