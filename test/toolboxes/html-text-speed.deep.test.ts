import { expect, test } from "vitest";
import { readHtml } from "../../src/toolboxes/http/html-text.ts";
import { leastCpuOf } from "../support/cpu.ts";

/** How long a page takes that is made to take long. */

const address = "https://harbour.example/tides/";

const fill = (unit: string): string => unit.repeat(Math.ceil(2 ** 20 / unit.length));

test.each([
  "<p>hello world <a href='/x'>y</a></p>",
  "<a href=x>",
  "<a href=x>y",
  "<li>x",
  "</p>",
  "</svg><svg>",
  "<a b='",
  "<",
  "&#x41",
])("TB-19: a page of 1 MB full of %s is read in no more than 0.3 s", async (unit) => {
  const page = fill(unit);
  expect(await leastCpuOf(() => readHtml(page, address))).toBeLessThan(300);
});
