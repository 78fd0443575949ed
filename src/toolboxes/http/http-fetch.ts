import * as z from "zod";
import { fieldsOf } from "../../chat/json.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { defineTool, parkCallOn } from "../../tools/define-tool.ts";
import type { Parked, ToolOutput } from "../../tools/define-tool.ts";
import { EgressError, maxRedirects, RedirectError } from "../../tools/egress/egress.ts";
import { toolError } from "../../tools/errors.ts";
import { addressSubject } from "../../tools/egress/url.ts";
import { readAnswer } from "./read-answer.ts";

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

const longestQuery = 2_048;
const longestBody = 1_048_576;

/** Headers that a model may set: it chooses the form of an answer, while credentials come from the team's file. */
const allowedHeaders = /^(accept|accept-language|content-type|range|if-[a-z-]+)$/i;
const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e]*$/.test(value);

const isReading = (method: string): boolean => method === "GET" || method === "HEAD";

const params = z
  .strictObject({
    url: z
      .string()
      .max(8_192)
      .refine(
        (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""),
        "write an absolute address, which begins with https://",
      )
      .refine((url) => (URL.parse(url)?.search ?? "").length <= longestQuery + 1, {
        error: `the query may have at most ${longestQuery} bytes; send more in the body of a POST`,
      })
      .describe("Absolute address."),
    method: z.enum(methods).default("GET").describe("HTTP method."),
    headers: z
      .record(z.string(), z.string().refine(isHeaderValue, "a header has printable ASCII characters only"))
      .refine((headers) => Object.keys(headers).every((name) => allowedHeaders.test(name)), {
        error: "only accept, accept-language, content-type, range and if-* may be set",
      })
      .optional()
      .describe("accept, accept-language, content-type, range or if-*; no others."),
    body: z
      .string()
      .refine((body) => utf8Length(body) <= longestBody, `a body may have at most ${longestBody} bytes`)
      .optional()
      .describe("Text to send; not with GET or HEAD."),
  })
  .refine(({ method, body }) => body === undefined || !isReading(method), {
    path: ["body"],
    error: "GET and HEAD have no body",
  });

type Request = z.output<typeof params>;

/** The way of a call so far: the addresses that redirected it, and whether a request may have changed something. */
interface Passed {
  readonly redirects: readonly string[];
  readonly hasActed: boolean;
}

const readPassed = (memo: unknown): Passed => {
  const { redirects, hasActed } = fieldsOf(memo);
  return {
    redirects: Array.isArray(redirects) ? redirects.filter((each) => typeof each === "string") : [],
    hasActed: hasActed === true,
  };
};

/** Continues the call at the address of a redirect, if permission rules allow it. */
const followRedirect = (
  { url: from, method: before, headers = {}, body }: Request,
  { url, method }: RedirectError["target"],
  { redirects, hasActed }: Passed,
): Parked => {
  if (redirects.length >= maxRedirects)
    throw new EgressError("too_many_redirects", `more than ${maxRedirects} redirects.`);
  const keepsBody = method === before;
  const sent = Object.entries(headers).filter(([name]) => keepsBody || name.toLowerCase() !== "content-type");
  const args = {
    url,
    method,
    headers: Object.fromEntries(sent),
    ...(keepsBody && body !== undefined ? { body } : {}),
  };
  const memo = { redirects: [...redirects, addressSubject(from)], hasActed };
  return parkCallOn({ on: "verdict", args, memo });
};

/** Output of a request that may change something if its connection breaks. */
const unknownOutput: ToolOutput = {
  ...toolError(
    "unknown",
    "the connection broke before the whole answer arrived. The request may have taken effect: check before repeating it.",
  ),
  status: "unknown",
};

export const httpFetch = defineTool({
  name: "http_fetch",
  description:
    "Makes an HTTP request and returns {status, url, headers, body}. Of an HTML page, body is its readable text and links says where its links lead; of other files than texts, body gives the type and size. Cut at 1 MiB.",
  params,
  safety: ({ method }) => (isReading(method) ? "read" : "unsafe"),
  workspace: "none",
  volatile: ["headers"],
  timeout: 30_000,
  hosts: ["*"],
  does: ["egress"],
  acts: ({ url }) => [{ act: "egress", subject: addressSubject(url) }],
  run: async (request, context) => {
    const { url, method, headers = {}, body } = request;
    const { redirects, ...before } = readPassed(context.memo.get());
    const hasActed = before.hasActed || !isReading(method);
    try {
      const response = await context.egress(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        redirects: "raise",
        maxBytes: null,
      });
      const content = JSON.stringify(await readAnswer(response, new URL(url).href));
      return redirects.length === 0 ? { content } : { content, details: { redirects: [...redirects] } };
    } catch (error) {
      if (error instanceof RedirectError)
        return followRedirect(request, error.target, { redirects, hasActed });
      const isRefusal = error instanceof EgressError && error.code !== "unreachable";
      if (isRefusal || !hasActed) throw error;
      return unknownOutput;
    }
  },
});
