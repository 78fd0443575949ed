import { expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  lead,
  member,
  mission,
  resultsOf,
  toRest,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { textsOf } from "../loop/play.ts";
import {
  background,
  dispatch,
  dispatched,
  done,
  finish,
  leads,
  names,
  node,
  progress,
  report,
  worker,
  reportsIn,
} from "./graph-play.ts";
import { replies, said } from "../../support/scripts.ts";
import { invalidity } from "../../support/validity.ts";

/** What ends a task graph early, and what a crash does to it (AG-30, AG-34, AG-36, RE-C44). */

const messages = (made: Crew): readonly string[] => chatOf(made, "main").map(textsOf);

test("AG-36 AG-30: in the background the call returns at once, and the report comes as a message", async () => {
  const made = await dispatched([
    leads([node("a"), node("b", ["a"])], { async: true }, background),
    worker(done("a", "b")),
  ]);
  const [started = ""] = resultsOf(made);
  expect(started).toMatch(/^ok: \{"dispatch":"d_[a-z2-7]{26}","tasks":2\}$/);
  expect(endings(made)).toEqual(["lead completed:end_turn"]);
  await finish(made, "a");
  await finish(made, "b");
  await made.bench.idle();
  const [told = "", ...more] = reportsIn(messages(made));
  expect(more).toEqual([]);
  expect(told).toContain("2 tasks: 2 success\n\n## a (worker) success");
  expect(messages(made).at(-1)).toBe("Announced.");
  expect(endings(made)).toEqual([
    "lead completed:end_turn",
    "worker completed:end_turn",
    "worker completed:end_turn",
    "lead completed:end_turn",
  ]);
  expect(made.bench.rows("entries")).toEqual([]);
  expect(made.bench.alarm()).toBeNull();
});

test("AG-36: whoever may not leave work in the background may not leave a graph there", async () => {
  const made = await mission([leads([node("a")], { async: true }), worker(done("a"))]);
  expect(resultsOf(made)[0]).toContain(
    "error: not_permitted: async: you may not run a graph in the background",
  );
  expect(childIds(made)).toEqual([]);
});

test("AG-31 AG-36: an announcing run that fails four times leaves the report in the chat once", async () => {
  const made = await crew([
    {
      name: "lead",
      script: `scenes: [{ name: go, when: { input: { equals: Go }, turn: 1 }, reply: [{ call: dispatch_tasks, args: ${JSON.stringify({ tasks: [node("a")], async: true })} }] }, { name: over, when: { input: { equals: Go } }, reply: [{ text: Left. }] }, { name: fails, reply: [{ text: "Cut" }], finish: refusal }]`,
      yaml: background,
    },
    worker(done("a"), false),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  for (let round = 0; round < 6; round++) await made.bench.pass(60_000);
  const announcing = endings(made).filter((end) => end === "lead failed:refusal");
  expect(announcing).toHaveLength(4);
  const raw = chatOf(made, "main")
    .filter(({ role }) => role === "assistant")
    .map(textsOf);
  expect(reportsIn(raw)).toHaveLength(1);
  expect(made.bench.alarm()).toBeNull();
});

test("AG-18 AG-34: a cancel of main stops the running tasks, and none of the others ever starts", async () => {
  const made = await dispatched([
    leads([node("a", [], { blocking: false }), node("b", ["a"], { blocking: false }), node("c", ["b"])]),
    worker(done("a", "b", "c")),
  ]);
  made.bench.ok("cancel");
  await made.bench.tick(5_000);
  await made.bench.idle();
  expect(names(made)).toEqual(["a"]);
  expect(endings(made)).toEqual(["worker cancelled:cancelled", "lead cancelled:cancelled"]);
  expect(resultsOf(made)[0]).toMatch(/^cancelled: /);
  expect(progress(made)).toEqual(["1/3 a cancelled", "2/3 b cancelled", "3/3 c cancelled"]);
  expect([made.bench.alarm(), made.bench.rows("entries")]).toEqual([null, []]);
});

test("AG-18: a cancel of main also ends a graph in the background, and nobody is told of it", async () => {
  const members = [
    {
      ...lead(
        [
          said(dispatch([node("a"), node("b", ["a"], { blocking: false })], { async: true }), ["fire", {}]),
          said("Never."),
        ],
        background,
      ),
    },
    worker(done("a", "b")),
  ];
  const made = await dispatched(members);
  made.bench.ok("cancel");
  for (const call of made.probe.calls) call.finish();
  await made.bench.idle();
  expect(names(made).filter((name) => name === "b")).toEqual([]);
  expect(endings(made).toSorted()).toEqual(["lead cancelled:cancelled", "worker cancelled:cancelled"]);
  expect(reportsIn(messages(made))).toEqual([]);
});

test("AG-31 SE-3 SE-24: a rollback leaves the report of a graph of which a task succeeded, in a chat that stays valid", async () => {
  const graph = said(dispatch([node("a"), node("b", ["a"])], { async: true }), ["look", { name: "l" }]);
  const made = await dispatched([
    lead([graph, said("Anew.")], background),
    {
      name: "worker",
      script: `scenes: [
        { name: a, when: { input: { starts_with: "Do a." } }, reply: [{ text: Done. }] },
        { name: b, when: { input: { starts_with: "Do b." } }, reply: [{ call: ask_user, args: { question: How? } }] }]`,
      yaml: "toolboxes: [ask]",
    },
  ]);
  made.bench.send("Start over", { on_busy: "rollback" });
  await toRest(made);
  expect(reportsIn(messages(made))).toHaveLength(1);
  expect(made.bench.chat().map(({ role, origin }) => `${role} ${origin}`)).toEqual([
    "user system",
    "assistant agent",
    "user human",
    "assistant agent",
  ]);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-18 AG-34: a person cancels one thread: its heirs are cancelled, everybody else goes on", async () => {
  const made = await dispatched([
    leads([node("a"), node("b", ["a"]), node("x")]),
    worker(done("a", "b", "x")),
  ]);
  const [child] = childIds(made);
  made.bench.ok("cancel", { thread: child });
  await finish(made, "x");
  await made.bench.tick(5_000);
  await made.bench.idle();
  expect(report(made)).toEqual(["a cancelled", "b cancelled", "x success"]);
  expect(endings(made).at(-1)).toBe("lead completed:end_turn");
});

test("AG-22: the caller's own deadline ends the graph with it", async () => {
  const made = await dispatched([
    leads(
      [node("a", [], { blocking: false }), node("b", ["a"])],
      {},
      "middleware: [{ kind: timeout, params: { duration: 20s, count: wall } }]",
    ),
    worker(done("a", "b")),
  ]);
  await made.bench.tick(20_000);
  await made.bench.tick(5_000);
  await made.bench.idle();
  expect(names(made)).toEqual(["a"]);
  expect(childIds(made)).toHaveLength(1);
  expect(endings(made).at(-1)).toBe("lead failed:deadline_exceeded");
  expect([made.bench.alarm(), Object.keys(made.bench.state().threads)]).toEqual([null, ["main"]]);
});

test("AG-34: a child's graph ends with the child", async () => {
  const made = await dispatched([
    lead([said(delegate("boss")), said("Over.")]),
    { name: "boss", script: replies(said(dispatch([node("a"), node("b", ["a"])])), said("Never.")) },
    worker(done("a", "b")),
  ]);
  const [boss] = childIds(made);
  made.bench.ok("cancel", { thread: boss });
  await made.bench.tick(5_000);
  await made.bench.idle();
  expect(names(made)).toEqual(["a"]);
  expect(endings(made)).toEqual([
    "worker cancelled:cancelled",
    "boss cancelled:cancelled",
    "lead completed:end_turn",
  ]);
});

const ids = ["a", "b", "c"];

const saysProgress = "delegation: { async: true, progress_updates: true }";

const first = "a (worker) success: 1 of 3 tasks are over";

const rest = "b (worker) success: 2 of 3 tasks are over\nc (worker) success: 3 of 3 tasks are over";

/** Ends a at once, b at once, and c five seconds later. */
const playThree = async (more: object): Promise<Crew> => {
  const made = await dispatched([
    leads(
      ids.map((id) => node(id)),
      more,
      saysProgress,
    ),
    worker(done(...ids)),
  ]);
  await finish(made, "a");
  await finish(made, "b");
  await made.bench.tick(5_000);
  await finish(made, "c");
  await made.bench.idle();
  return made;
};

test("AG table progress_updates: a resting caller's chat gets each finished task, at most every 5 s", async () => {
  const made = await playThree({ async: true });
  const said = chatOf(made, "main").filter(
    ({ role, parts }) => role === "assistant" && parts[0]?.type === "text",
  );
  expect(said.map(textsOf)).toEqual(["All over.", first, rest, "Announced."]);
});

test("AG table progress_updates: while the call waits it is a status, and without the key there is none", async () => {
  const made = await playThree({});
  expect(eventsAs(made, "status_update").map(({ data }) => data.text)).toEqual([first, rest]);
  const quiet = await mission([leads([node("a")]), worker(done("a"), false)]);
  expect(quiet.bench.types()).not.toContain("status_update");
});

test("AG table progress_updates: what was held back when the graph ends is said before the report", async () => {
  const members = (more: object): readonly Member[] => [
    leads(
      ids.map((id) => node(id)),
      more,
      saysProgress,
    ),
    worker(done(...ids)),
  ];
  const waited = await dispatched(members({}));
  for (const id of ids) await finish(waited, id);
  await waited.bench.idle();
  expect(eventsAs(waited, "status_update").map(({ data }) => data.text)).toEqual([first, rest]);
  const left = await dispatched(members({ async: true }));
  for (const id of ids) await finish(left, id);
  await left.bench.idle();
  const chat = chatOf(left, "main").map(textsOf);
  const report = chat.findIndex((text) => text.includes("has ended"));
  expect(chat.slice(report - 2, report)).toEqual([first, rest]);
});

test("AG-35 AG-36: a task that ended without words is told of as such, also where its output is all that another reads", async () => {
  const silent = "{ reply: [{ reasoning: Hm. }] }";
  const made = await mission([
    leads([node("a"), node("b", ["a"], { message: "{{a.output}}" })]),
    member("worker", [said(["look", {}]), silent, silent, silent]),
  ]);
  expect(report(made)).toEqual(["a success", "b success"]);
  expect(resultsOf(made)[0]).toContain("## a (worker) success 0.0s\n(no result)");
  const [, heir = ""] = childIds(made);
  expect(chatOf(made, heir).map(textsOf)[0]).toBe("(no result)");
  for (const { messages } of made.bench.requests) expect(invalidity(messages)).toBeNull();
});
