import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, look, replies, said, scripted } from "../../support/scripts.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import { ends, play, roles, run, textsOf } from "../loop/play.ts";

/** The note behind failed calls, from YAML to what the model is sent (SE-41). */

const bad = said(["look", { fail: true }]);

/** A command that ended by itself with an exit code. */
const command = defineTool({
  name: "command",
  description: "Runs a command.",
  params: z.strictObject({}),
  run: () => ({ content: "[exit 1]", isError: true, exitCode: 1 }),
});

/** How many notes the newest request holds. */
const notesSent = ({ bench }: Play): number =>
  bench.requests.at(-1)?.messages.filter((message) => textsOf(message).includes("reflect_on_error")).length ??
  0;

const played = async (script: readonly string[], options: PlayOptions = {}): Promise<Play> => {
  const made = await run(replies(...script, done), options);
  expect(ends(made.bench)).toEqual(["completed:end_turn"]);
  return made;
};

test("SE-41: a failed call is followed by a note with three questions behind all results of its reply", async () => {
  const { bench } = await played([said(["look", {}], ["look", { fail: true }])]);
  const sent = bench.requests[1]?.messages ?? [];
  expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
  expect(sent.map(textsOf).at(-1)).toMatch(
    /^<note from="reflect_on_error">[^\n]+\n1\. [^\n]+\?\n2\. [^\n]+\?\n3\. [^\n]+\?<\/note>$/,
  );
});

test("SE-41: five failing replies in a row are followed by three notes", async () => {
  expect(notesSent(await played([bad, bad, bad, bad, bad]))).toBe(3);
});

const denied = "permissions: { rules: [{ tool: fire, action: deny }] }";

test.each<[string, readonly string[], number]>([
  ["a clean reply begins the count anew", [bad, bad, bad, look, bad, bad], 5],
  ["so does a command that ended by itself", [bad, bad, bad, said(["command", {}]), bad], 4],
  ["and a turn without calls", [bad, bad, bad, "{ reply: [{ text: a }], finish: length }", bad], 4],
  ["a denied call does not", [bad, bad, bad, said(["fire", {}]), bad], 3],
])("SE-41: %s", async (_, script, notes) => {
  expect(notesSent(await played(script, { team: denied, tools: [command] }))).toBe(notes);
});

test.each<[string, string, PlayOptions]>([
  ["a command with another exit code", said(["command", {}]), {}],
  ["a denied call", said(["fire", {}]), {}],
  ["calls of a reply that was cut off", "{ reply: [{ call: look }], finish: length }", {}],
  ["a failed call with reflect_on_error: false", bad, { agent: "options: { reflect_on_error: false }" }],
])("SE-41: no note follows %s", async (_, reply, options) => {
  expect(notesSent(await played([reply], { team: denied, tools: [command], ...options }))).toBe(0);
});

test("SE-41 CF-14: an agent with the effect reflection has the effect's notes alone", async () => {
  const yaml = scripted(replies(bad, bad, done)).replace("effects: []", "effects: [{ kind: reflection }]");
  const made = await run("", { yaml });
  expect(notesSent(made)).toBe(0);
  expect(made.bench.requests.at(-1)?.messages.map(textsOf).at(-1)).toContain('from="reflection"');
});

test("SE-41: none after a terminal call that succeeded, whatever failed beside it, and none while the run is cancelled", async () => {
  const terminal = await run(replies(said(["look", { fail: true }], ["submit", {}])));
  expect(ends(terminal.bench)).toEqual(["completed:terminal_tool"]);
  expect(roles(terminal.bench).at(-1)).toBe("tool");
  const cancelled = await play(replies(said(["look", { fail: true }], ["put", {}]), done), {
    instant: false,
  });
  cancelled.bench.send("Go");
  await cancelled.bench.steps();
  cancelled.bench.ok("cancel", { mode: "after_turn" });
  cancelled.probe.calls.at(-1)?.finish();
  await cancelled.bench.idle();
  expect(ends(cancelled.bench)).toEqual(["cancelled:cancelled"]);
  expect(roles(cancelled.bench).at(-1)).toBe("tool");
});

test("SE-41, C24: whatever write the power is cut at, each note stands once", async () => {
  for (let write = 1, cut = true; cut; write++) {
    const { bench } = await play(replies(bad, bad, done));
    bench.send("Go");
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cut = bench.writes() >= before + write;
    expect(roles(bench)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
      "assistant",
      "tool",
      "user",
      "assistant",
    ]);
    checkInvariants(bench, []);
  }
});
