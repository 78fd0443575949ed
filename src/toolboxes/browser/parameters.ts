import * as z from "zod";
import type { CallAct } from "../../tools/acts.ts";
import { addressSubject } from "../../tools/egress/url.ts";

/** Milliseconds of a browser call. */
export const callTimeout = 30_000;

export const selectorParameter = (what: string) =>
  z.string().min(1).max(1_000).describe(`${what}, as a CSS selector.`);

export const optionalSelector = (what: string) =>
  z.string().min(1).max(1_000).optional().describe(`${what}, as a CSS selector.`);

/** Returns the acts of a call on the open page: it may make any request to its host. */
export const actsOnPage = (page: string | null): readonly CallAct[] => {
  const url = URL.parse(page ?? "");
  return url === null || !/^https?:$/.test(url.protocol)
    ? []
    : [{ act: "egress", subject: addressSubject(url.href) }];
};
