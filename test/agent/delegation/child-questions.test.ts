import { expect, test } from "vitest";
import type { Ask } from "../../../src/agent/state/ask.ts";
import type { Crew } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  member,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

const interactive = "options: { interaction_mode: interactive, question_timeout: 10m }";

const asking = (question: string, more: object = {}) => ["request_input", { question, ...more }] as const;

/** Answers the question that a call's first item asks. */
const answer = (from: string, words: string, more: object = {}) => {
  const item = from === "spawn_agents" ? "spawn_agents.0" : from;
  const child = `{{results.spawn_agents.0.child}}`;
  const question = `{{results.${item}.question.id}}`;
  return ["answer_child", { child, question, answer: words, ...more }] as const;
};

const waiting = (name: string) => said(["ask_user", { question: name }]);

const openQuestion = ({ bench }: Crew): { readonly child: string; readonly question: string } => {
  const thread = Object.values(bench.state().threads).find(({ child }) => child?.question != null);
  const question = thread?.child?.question;
  if (thread === undefined || question == null) throw new Error("no question is open");
  return { child: thread.id, question: question.id };
};

test("AG-28: the call returns with the question, and answer_child returns the next question, then the result", async () => {
  const made = await mission([
    member(
      "lead",
      [
        said(spawn([task("coder")])),
        said(answer("spawn_agents", "Tabs.")),
        said(answer("answer_child", "Two.")),
        done,
      ],
      interactive,
    ),
    member("coder", [
      said(asking("Tabs or spaces?", { options: ["tabs", "spaces"] })),
      said(asking("How many?")),
      said("Coded."),
    ]),
  ]);
  const [first, second, third] = resultsOf(made).map((text) => text.replace(/^ok: /, ""));
  expect(JSON.parse(first ?? "")).toMatchObject([
    { agent: "coder", state: "waiting", question: { text: "Tabs or spaces?", options: ["tabs", "spaces"] } },
  ]);
  expect(JSON.parse(second ?? "")).toMatchObject({ state: "waiting", question: { text: "How many?" } });
  expect(JSON.parse(third ?? "")).toMatchObject({ state: "completed", result: "Coded." });
  const [coder = ""] = childIds(made);
  expect(resultsOf(made, coder)).toEqual(["ok: Tabs.", "ok: Two."]);
  const resumed = eventsAs(made, "run_resumed").filter(({ thread }) => thread === "main");
  expect(resumed.map(({ data }) => data.by)).toEqual(["thread", "thread", "thread"]);
  expect(endings(made)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-28: siblings of a child that asks go on, and their results come as messages", async () => {
  const made = await mission([
    member(
      "lead",
      [said(spawn([task("coder"), task("writer")])), said(answer("spawn_agents", "Tabs.")), done, done],
      interactive,
    ),
    member("coder", [said(asking("Tabs?")), said("Coded.")]),
    member("writer", [said(["look", { name: "1" }]), said(["look", { name: "2" }]), said("Written.")]),
  ]);
  const first = JSON.parse((resultsOf(made)[0] ?? "").replace("ok: ", "")) as readonly object[];
  expect(first).toMatchObject([
    { agent: "coder", state: "waiting" },
    { agent: "writer", state: "running" },
  ]);
  const told = chatOf(made, "main").filter(({ role, origin }) => role === "user" && origin === "agent");
  expect(told.map(textsOf).join("")).toContain('"result":"Written."');
  expect(told).toHaveLength(1);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-28 ★: a duplicate answer to question 1 is an error and leaves question 2 open; none is kept for it", async () => {
  const made = await mission([
    member(
      "lead",
      [
        said(spawn([task("coder")])),
        said(answer("spawn_agents", "Tabs.")),
        said(answer("spawn_agents", "Tabs again.")),
        said(["check_children", {}]),
        said(answer("check_children.0", "Two.")),
        done,
      ],
      interactive,
    ),
    member("coder", [said(asking("Tabs?")), said(asking("How many?")), said("Coded.")]),
  ]);
  expect(resultsOf(made)[2]).toMatch(/^error: not_found: q_[a-z2-7]+ is not open; its open question is q_/);
  expect(resultsOf(made, childIds(made)[0])).toEqual(["ok: Tabs.", "ok: Two."]);
});

test("AG-28: foreign children and questions, and children that have ended, are errors", async () => {
  const made = await mission([
    member(
      "lead",
      [
        said(["answer_child", { child: "t_none", question: "q_x", answer: "x" }]),
        said(spawn([task("coder")])),
        said(answer("spawn_agents", "x", { question: "q_x" })),
        done,
      ],
      interactive,
    ),
    member("coder", [done]),
  ]);
  const [unknown, , ended] = resultsOf(made);
  expect(unknown).toBe("error: child_not_found: you have no child t_none");
  expect(ended).toMatch(/^error: child_ended: t_\S+ has ended \(completed\): Done\.$/);
});

test("AG-28 ★: question_timeout runs only while a question is open: a child silent for an hour is left alone", async () => {
  const made = await crew(
    [
      member("lead", [said(spawn([task("coder")])), waiting("Hm?"), done, done], interactive),
      member("coder", [said(["look", {}]), said(asking("Tabs?")), said("I took tabs.")]),
    ],
    { instant: false, tools: [] },
  );
  made.bench.send("Go");
  await made.bench.steps();
  await made.bench.steps();
  for (const call of made.probe.calls) call.finish();
  await made.bench.steps();
  const { child } = openQuestion(made);
  await made.bench.pass(9 * 60_000);
  expect(made.bench.state().threads[child]?.child?.question).not.toBeNull();
  await made.bench.pass(60_000);
  expect(resultsOf(made, child).at(-1)).toBe(
    "error: no_answer: no answer came in time; decide yourself or finish",
  );
});

test("AG-28: an hour of work before the question costs nothing of its time", async () => {
  const made = await crew(
    [
      member("lead", [said(spawn([task("coder")])), waiting("Hm?"), done], interactive),
      member("coder", [said(["ask_user", { question: "Person?" }]), said(asking("Tabs?")), done]),
    ],
    { instant: true },
  );
  made.bench.send("Go");
  await made.bench.idle();
  await made.bench.pass(3_600_000);
  const [ask = ""] = Object.keys(made.bench.state().asks);
  made.bench.ok("answer", { ask, decision: "answer", text: "Yes" });
  await made.bench.idle();
  const { child } = openQuestion(made);
  await made.bench.pass(9 * 60_000);
  expect(openQuestion(made).child).toBe(child);
});

test("AG-28: if the caller's run ends first, the child stays; an answer in a later run reaches it, and its end is told", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(spawn([task("coder")])),
        said("I will see."),
        said(answer("spawn_agents", "Tabs.")),
        said("Thanks."),
      ],
      interactive,
    ),
    member("coder", [said(asking("Tabs?")), said("Coded.")]),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  expect(endings(made)).toEqual(["lead completed:end_turn"]);
  const { child } = openQuestion(made);
  made.bench.crash();
  made.bench.send("And now?");
  await made.bench.idle();
  expect(itemsOf(made)[0]).toMatchObject({ state: "completed", result: "Coded." });
  expect(resultsOf(made, child)).toEqual(["ok: Tabs."]);
  checkInvariants(made.bench, ["in_1", "in_2"]);
});

test("SE-25 AG-28: a person who steers a child that asks its caller settles the question; an answer comes too late", async () => {
  const made = await crew([
    member(
      "lead",
      [said(spawn([task("coder")])), said("So."), said(answer("spawn_agents", "Tabs.")), done, done],
      interactive,
    ),
    member("coder", [said(asking("Tabs?")), said(["fire", {}]), said("Coded.")]),
  ]);
  const { bench, probe } = made;
  probe.instant = false;
  bench.send("Go");
  await bench.steps();
  const { child } = openQuestion(made);
  bench.send("Spaces", { thread: child, on_busy: "steer" });
  await bench.steps();
  expect(bench.state().threads[child]?.child?.question).toBeNull();
  expect(resultsOf(made, child)).toEqual(["skipped: skipped: Not started: a new message arrived first."]);
  bench.send("And now?");
  await bench.steps();
  expect(resultsOf(made).at(-1)).toContain("it has no open question");
  probe.calls[0]?.finish();
  await bench.idle();
  expect(endings(made)).toContain("coder completed:end_turn");
  checkInvariants(bench, ["in_1"]);
});

test("AG-28: a child that nobody waits for asks by a message, and its answer is taken", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(delegate("coder", { async: true })),
        said("Started."),
        said(["check_children", {}]),
        said([
          "answer_child",
          {
            child: "{{results.check_children.0.child}}",
            question: "{{results.check_children.0.question.id}}",
            answer: "Tabs.",
          },
        ]),
        said("All done."),
      ],
      `${interactive}\ndelegation: { async: true }`,
    ),
    member("coder", [said(asking("Tabs?")), said("Coded.")]),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  const told = chatOf(made, "main").filter(({ role, origin }) => role === "user" && origin === "agent");
  expect(told.map(textsOf).join("")).toContain('"state":"waiting","question":{"id":"q_');
  expect(resultsOf(made).at(-1)).toContain('"result":"Coded."');
  expect(told).toHaveLength(1);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-28: a called caller that is over answers nothing any more: its children's questions are closed", async () => {
  const made = await mission([
    member("lead", [said(delegate("coder")), done]),
    member("coder", [said(spawn([task("writer")])), said("Enough."), said("Now done.")], interactive),
    member("writer", [said(asking("Tabs?")), said("Written.")]),
  ]);
  const [coder = "", writer = ""] = childIds(made);
  expect(resultsOf(made, writer)).toEqual([
    "error: no_answer: your caller will not answer; decide yourself or finish",
  ]);
  expect(chatOf(made, coder).map(textsOf).join("\n")).toContain('"result":"Written."');
  expect(resultsOf(made)).toEqual(["ok: Now done."]);
  expect(endings(made).map((end) => end.split(" ")[0])).toEqual(["writer", "coder", "lead"]);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-28: interaction_mode decides who may ask, and a task's mode overrides it", async () => {
  const offered = async (mode: string, more: object = {}): Promise<boolean> => {
    const made = await mission([
      member(
        "lead",
        [said(delegate("coder", more)), done],
        `options: { interaction_mode: ${mode} }\ndelegation: { async: true }`,
      ),
      member("coder", [done]),
    ]);
    const request = made.bench.requests.find(({ context }) => context.agent === "coder");
    return request?.tools.some(({ name }) => name === "request_input") ?? false;
  };
  expect(await offered("blocking")).toBe(false);
  expect(await offered("auto")).toBe(true);
  expect(await offered("interactive")).toBe(true);
  expect(await offered("interactive", { mode: "blocking" })).toBe(false);
  expect(await offered("blocking", { mode: "interactive" })).toBe(true);
});

test("AG-28: without the tools to answer, mode: interactive is refused with the reason", async () => {
  const made = await mission([
    member("lead", [said(delegate("coder", { mode: "interactive" })), done]),
    member("coder", [done]),
  ]);
  expect(resultsOf(made)[0]).toMatch(/^error: not_permitted: mode: /);
  expect(eventsAs(made, "run_start")).toHaveLength(1);
});

test("SE-24: a send that is refused while a called agent asks a person names its ask", async () => {
  const made = await crew([
    member("lead", [said(spawn([task("coder")])), done]),
    member("coder", [said(["ask_user", { question: "Tabs?" }]), done]),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  const { problem } = made.bench.perform("send", { content: "More" }) as {
    readonly problem: { readonly retryAfterMs?: number };
  };
  expect(problem).toMatchObject({
    code: "session_busy",
    meta: { asks: Object.keys(made.bench.state().asks) },
  });
  expect(Object.keys(made.bench.state().asks)).toHaveLength(1);
  expect(problem.retryAfterMs).toBe(2_000);
});

test("AP-18 SE-24: a run waits for its own ask and those of the agents it waits for, not for those of agents in the background", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(delegate("coder", { async: true })),
        said("Started."),
        said(spawn([task("writer")])),
        said(["ask_user", { question: "Which?" }]),
        done,
      ],
      "delegation: { async: true }",
    ),
    member("coder", [said(["ask_user", { question: "Tabs?" }]), done]),
    member("writer", [said(["ask_user", { question: "Long?" }]), done]),
  ]);
  const { bench } = made;
  const awaited = (): readonly unknown[] => {
    const { data = [] } = bench.ok("asks", { run: bench.ok("get")["active_run"] }) as unknown as {
      readonly data?: readonly Ask[];
    };
    expect(bench.perform("send", { content: "More" })).toMatchObject({
      problem: { code: "session_busy", retryAfterMs: 2_000, meta: { asks: data.map(({ id }) => id) } },
    });
    return data.map(({ question }) => question?.text);
  };
  const answer = (question: string): void => {
    const ask = Object.values(bench.state().asks).find((each) => each.question?.text === question);
    bench.ok("answer", { ask: ask?.id, decision: "answer", text: "Yes" });
  };
  bench.send("Start it in the background");
  await bench.idle();
  bench.send("And now?");
  await bench.idle();
  expect(awaited()).toEqual(["Long?"]);
  expect(Object.keys(bench.state().asks)).toHaveLength(2);
  answer("Long?");
  await bench.idle();
  expect(awaited()).toEqual(["Which?"]);
  expect(bench.ok("asks", { run: "run_9" })["data"]).toEqual([]);
});
