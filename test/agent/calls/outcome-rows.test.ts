import { expect, test } from "vitest";
import { done, scripted } from "../../support/scripts.ts";
import type { Play } from "../loop/play.ts";
import { openAsks, play, results } from "../loop/play.ts";

/** Outcomes of calls that wait for their siblings have rows only until all are told (SE-18, RE-P12). */

const three =
  "{ reply: [{ call: look, args: { name: a } }, { call: look, args: { name: b } }, { call: look, args: { name: c } }] }";

const kept = ({ bench }: Play): readonly unknown[] => [
  ...bench.rows("outcomes").map(({ call }) => call),
  ...bench
    .rows("blobs")
    .map(({ id }) => id)
    .filter((id) => String(id).startsWith("outcome:")),
];

test("SE-18 RE-P12: outcomes of a reply leave no rows behind once all are told, be they long; until then a crash loses none", async () => {
  const limits = "options: { tool_output_limits: { look: 3000000 } }";
  const yaml = scripted(`replies: [${three}, ${three}, ${done}]`, limits);
  const played = await play("", { yaml: yaml.replace("128000", "10000000"), instant: false });
  const { bench, probe } = played;
  bench.send("Go");
  for (const reply of [0, 3]) {
    for (let round = 0; round < 3; round++) await bench.steps();
    probe.calls[reply]?.finish("x".repeat(600_000));
    probe.calls[reply + 1]?.finish("short");
    await bench.steps();
    expect(bench.rows("outcomes")).toHaveLength(2);
    expect(kept(played).length).toBeGreaterThan(2);
    probe.calls[reply + 2]?.finish();
    for (let round = 0; round < 3; round++) await bench.steps();
    expect(kept(played)).toEqual([]);
  }
  await bench.idle();
  bench.crash();
  expect(results(bench)).toHaveLength(6);
});

test("SE-18 SE-31 RE-P12: nor do those of a run that was cancelled, or ended by its next input", async () => {
  for (const end of ["cancel", "send"] as const) {
    const played = await play(
      `replies: [{ reply: [{ call: look, args: {} }, { call: ask_user, args: { question: Well? } }] }, ${done}]`,
    );
    const { bench } = played;
    bench.send("Go");
    await bench.idle();
    expect(openAsks(bench)).toHaveLength(1);
    expect(kept(played)).toHaveLength(1);
    bench.crash();
    if (end === "cancel") bench.ok("cancel", {});
    else bench.ok("send", { content: "New", on_busy: "interrupt" });
    await bench.idle();
    expect(results(bench)[0]).toBe("ok: look() done");
    expect(kept(played)).toEqual([]);
  }
});
