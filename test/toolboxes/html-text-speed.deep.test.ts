import { beforeAll, expect, test } from "vitest";
import { readHtml } from "../../src/toolboxes/http/html-text.ts";
import { leastCpuOf } from "../support/cpu.ts";

/** How long a page takes that is made to take long, beside one of the same length that is not. */

const address = "https://harbour.example/tides/";

const fill = (unit: string): string => unit.repeat(Math.ceil(2 ** 20 / unit.length));

const timeOf = (unit: string): Promise<number> => {
  const page = fill(unit);
  return leastCpuOf(() => readHtml(page, address));
};

let ordinary = 0;
beforeAll(async () => {
  ordinary = await timeOf("<p>hello world <a href='/x'>y</a></p>");
});

test("TB-19: an ordinary page of 1 MB is read in no more than 0.3 s", () => {
  expect(ordinary).toBeLessThan(300);
});

test.each(["<a href=x>", "<a href=x>y", "<li>x", "</p>", "</svg><svg>", "<a b='", "<", "&#x41"])(
  "TB-19: a page of 1 MB full of %s takes no more than six times as long as an ordinary one",
  async (unit) => {
    expect((await timeOf(unit)) / ordinary).toBeLessThan(6);
  },
);
