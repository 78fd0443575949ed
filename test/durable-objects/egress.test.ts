import { expect, test } from "vitest";
import { checkUrl } from "../../src/tools/egress/url.ts";
import { disguises, ordinary } from "../support/addresses.ts";

/** The runtime parses addresses by itself: what holds in Node must hold there. */

const rules = { allow: [], deny: [], ports: [443, 80, 8443], allow_http: true, privateAllow: [] };
const passes = (address: string): boolean => checkUrl(address, rules).ok;

test("TB-18 RE-T7: in the Workers runtime, too, disguised private addresses are refused and ordinary ones pass", () => {
  expect(disguises.filter(passes)).toEqual([]);
  expect(ordinary.filter((address) => !passes(address))).toEqual([]);
});
