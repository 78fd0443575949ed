import { expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { openAsks, play } from "./play.ts";

/** Pages of long values (AP-7, AP-8, AP-24). */

/** What a page may have: its values, and a little beside them. */
const mostBytes = 4 * 2 ** 20 + 16_384;

interface Page {
  readonly data: readonly { readonly id: string; readonly seq: number }[];
  readonly next_cursor: string | null;
  readonly next_after: number;
}

const page = (bench: Bench, list: "asks" | "events", query: object): Page => {
  const { data, ...rest } = bench.ok(list, query) as unknown as Page;
  expect(JSON.stringify(data).length).toBeLessThanOrEqual(mostBytes);
  return { data, ...rest };
};

test("AP-8 RE-P6: a page of events ends early where its next_after goes on", async () => {
  const turns = 45;
  const { bench } = await play(`replies: [${"{ reply: [{ text: Hi. }] }, ".repeat(turns)}]`);
  for (let turn = 0; turn < turns; turn++) {
    bench.send("x".repeat(60_000));
    await bench.idle();
  }
  const pages: Page[] = [];
  do pages.push(page(bench, "events", { after: pages.at(-1)?.next_after ?? 0, limit: 1_000 }));
  while ((pages.at(-1)?.next_after ?? 0) < bench.state().head);
  expect(pages).toHaveLength(2);
  const seqs = pages.flatMap(({ data }) => data.map(({ seq }) => seq));
  expect(seqs).toEqual(bench.events().map(({ seq }) => seq));
});

test("AP-24 AP-8 SE-28: open asks of long arguments fill a page and no more; the snapshot names the cursor of the others", async () => {
  const call = '{ call: fire, args: { name: "{{input}}" } }';
  const yaml = scripted(
    `replies: [{ reply: [${Array.from({ length: 7 }, () => call).join(", ")}] }]`,
    "",
    "permissions: { rules: [{ tool: fire, action: ask }] }",
  );
  const { bench } = await play("", { yaml: yaml.replace("128000", "10000000") });
  bench.send("x".repeat(900_000));
  await bench.idle();
  const all = openAsks(bench);
  const { asks, more } = bench.ok("snapshot") as unknown as {
    readonly asks: Page["data"];
    readonly more: { readonly asks: string | null };
  };
  const rest = page(bench, "asks", { status: "open", limit: 200, cursor: more.asks });
  expect([...asks, ...rest.data].map(({ id }) => id)).toEqual(all);
  expect([asks.length, rest.next_cursor]).toEqual([4, null]);
});
