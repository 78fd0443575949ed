import { expect, test } from "vitest";
import { checkInvariants } from "../../support/invariants.ts";
import type { Play } from "../loop/play.ts";
import { ends, lastResult, play, refused, roles, run, textsOf } from "../loop/play.ts";

/** Summaries of earlier attempts, from an input to the request (SE-42). */

const twice = "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]";

const told = async (given: unknown): Promise<Play> => {
  const played = await play(twice);
  played.bench.send("Go", { prior_episode_summaries: given });
  await played.bench.idle();
  return played;
};

const shown = ({ bench }: Play): readonly string[] => (bench.requests[0]?.messages ?? []).map(textsOf);

test("SE-42 AP-18: prior_episode_summaries are one numbered note before the input", async () => {
  const played = await told(["Tried A: red.", " ", "Tried B: red, too."]);
  const { bench } = played;
  expect(shown(played)).toEqual([
    '<note from="episodes">What earlier attempts came to:\n1. Tried A: red.\n2. Tried B: red, too.</note>',
    "Go",
  ]);
  expect(bench.ok("input", { input: "in_1" })).toMatchObject({
    content: [{ type: "text", text: "Go" }],
    prior_episode_summaries: ["Tried A: red.", "Tried B: red, too."],
  });
  bench.send("Again");
  await bench.idle();
  expect(roles(bench)).toEqual(["user", "user", "assistant", "user", "assistant"]);
  checkInvariants(bench, []);
});

test.each([
  ["a JSON array as text", JSON.stringify(["A.", "", "B."]), ["1. A.", "2. B."]],
  ["a text", "Tried A.\n", ["1. Tried A."]],
  ["text that only begins like JSON", "[draft] Tried A.", ["1. [draft] Tried A."]],
  ["a JSON array of other things", "[1]", ["1. [1]"]],
])("SE-42: %s is taken, too", async (_, given, lines) => {
  expect(shown(await told(given))[0]).toContain(`:\n${lines.join("\n")}</note>`);
});

test.each([[[]], [["", " \n"]], [""], ["[]"], ['[" "]']])(
  "SE-42 ★: nothing but blanks (%j) makes no note, and never a bare header",
  async (given) => {
    expect(shown(await told(given))).toEqual(["Go"]);
  },
);

test("SE-42: the newest 8 in at most 4 000 characters, the oldest dropped", async () => {
  const many = Array.from({ length: 12 }, (_, index) => `attempt ${index}`);
  const [note = ""] = shown(await told(many));
  expect(note).toContain("1. attempt 4\n");
  expect(note).toContain("8. attempt 11</note>");
  const inside = (text: string): string => text.replace(/<\/?note[^>]*>/g, "");
  const [long = ""] = shown(await told(["x".repeat(3_000), "y".repeat(3_000), "𝒵".repeat(900)]));
  expect(long).not.toContain("x");
  expect(long).toContain(`1. ${"y".repeat(3_000)}\n2. 𝒵`);
  const [huge = ""] = shown(await told(["z".repeat(9_000)]));
  expect([...inside(huge)].length).toBeLessThanOrEqual(4_000);
  expect(huge).toContain("1. zzz");
});

test("SE-42 AP-2: something else is refused with the field", async () => {
  const { bench } = await play(twice);
  expect(refused(bench, "send", { content: "Go", prior_episode_summaries: [1] })).toBe("invalid_request");
});

test("SE-42 AP-16: the input of a create has them, too", async () => {
  const played = await play(twice, {
    create: { input: { content: "Go", prior_episode_summaries: ["A."] } },
  });
  await played.bench.idle();
  expect(shown(played)[0]).toContain("1. A.");
});

const look = (name: string, fails = false): string =>
  `{ call: look, args: { name: ${name}, fail: ${fails} } }`;

const failing = (calls: string): string =>
  `replies: [{ reply: [${calls}] }, { fail: [{ status: 401 }], reply: [{ text: x }] }, { reply: [{ text: Two. }] }, { reply: [{ text: Three. }] }]`;

const summaryOf = ({ bench }: Play): string => lastResult(bench).episode_summary;

/** A run that failed, and what the next request shows of an input behind it. */
const retried = async (given: object): Promise<readonly string[]> => {
  const { bench } = await run(failing(`${look("a")}, ${look("b", true)}`));
  expect(ends(bench)).toEqual(["failed:provider_auth"]);
  bench.send("Again", given);
  await bench.idle();
  return (bench.requests.at(-1)?.messages ?? []).map(textsOf).slice(-2);
};

test("★ SE-42 AP-18: an input with prior_episode_summaries after a run that failed adds that run's own", async () => {
  const own =
    'look({"name":"a","fail":false}) ok: look(a) done\nlook({"name":"b","fail":true}) failed: failed: the probe was told to fail';
  const note = (lines: string): string =>
    `<note from="episodes">What earlier attempts came to:\n${lines}</note>`;
  expect(await retried({ prior_episode_summaries: [] })).toEqual([note(`1. ${own}`), "Again"]);
  expect(await retried({ prior_episode_summaries: "Tried A." })).toEqual([
    note(`1. Tried A.\n2. ${own}`),
    "Again",
  ]);
  expect(await retried({ prior_episode_summaries: [own] })).toEqual([note(`1. ${own}`), "Again"]);
  expect((await retried({}))[0]).not.toContain("earlier attempts");
});

test("SE-42: a run that completed, or failed without a call, adds nothing, and never a bare header", async () => {
  const completed = await run(twice);
  completed.bench.send("Again", { prior_episode_summaries: [] });
  await completed.bench.idle();
  expect(completed.bench.requests.at(-1)?.messages.map(textsOf)).toEqual(["Go", "One.", "Again"]);
  const idle = await run(
    "replies: [{ fail: [{ status: 401 }], reply: [{ text: x }] }, { reply: [{ text: y }] }]",
  );
  expect(summaryOf(idle)).toBe("");
  idle.bench.send("Again", { prior_episode_summaries: "[]" });
  await idle.bench.idle();
  expect(idle.bench.requests.at(-1)?.messages.map(textsOf).join()).not.toContain("earlier attempts");
});

test("★ SE-42: a summary has the newest 24 calls in at most 2 000 characters, the oldest dropped", async () => {
  const many = Array.from({ length: 30 }, (_, index) => look(`n${index}`)).join(", ");
  const lines = summaryOf(await run(failing(many))).split("\n");
  expect(lines).toHaveLength(24);
  expect(lines[0]).toContain('"n6"');
  expect(lines.at(-1)).toContain('"n29"');
  const long = Array.from({ length: 12 }, (_, index) => look(`${index}${"x".repeat(900)}`)).join(", ");
  const text = summaryOf(await run(failing(long)));
  expect(text.length).toBeLessThanOrEqual(2_000);
  expect(text.split("\n").at(-1)).toMatch(/^look\(\{"name":"11x{150,}…?\) ok: look\(11x+$/);
  expect(text).not.toContain('"name":"0x');
});
