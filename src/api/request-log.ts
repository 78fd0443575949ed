import { digestOf, randomBytes, toBase32, toHex } from "../engine/access/encoding.ts";
import type { RequestContext, Router } from "./context.ts";
import { faultOf } from "../tools/log-line.ts";
import { problemKinds } from "../agent/problem-body.ts";
import type { ProblemCode } from "../agent/problem.ts";

/** One JSON line per request (RE-12), without content: no query, no texts, the tenant as a hash (RE-14). */

const levels = ["debug", "info", "warn", "error"] as const;
type Level = (typeof levels)[number];

export const newRequestId = (): string => `req_${toBase32(randomBytes(16))}`;

/** Continues the caller's W3C trace, or begins one. */
export function traceOf(request: Request): string {
  const sent = request.headers.get("traceparent") ?? "";
  const [, trace = "", flags = "01"] =
    /^00-([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/.exec(sent) ?? [];
  const valid = trace !== "" && !/^0+$/.test(trace);
  return `00-${valid ? trace : toHex(randomBytes(16))}-${toHex(randomBytes(8))}-${valid ? flags : "01"}`;
}

/** `error`: someone must act; `warn`: it will pass. */
const levelOf = (status: number, code: string | null): Level => {
  if (status < 500) return "info";
  return code !== null && problemKinds[code as ProblemCode]?.retryable ? "warn" : "error";
};

const wanted = (router: Router, level: Level): boolean =>
  levels.indexOf(level) >= levels.indexOf(router.team.observability.log_level);

/** Writes the line of a request that was answered. */
export async function logRequest(context: RequestContext, status: number, started: number): Promise<void> {
  const { router, request, requestId, traceparent, notes } = context;
  const level = levelOf(status, notes.code);
  if (!wanted(router, level)) return;
  const tenant = notes.tenant === null ? null : toHex(await digestOf("tenant", notes.tenant)).slice(0, 16);
  const at = router.now();
  router.log(
    router.logLine({
      at: new Date(at).toISOString(),
      level,
      msg: "request",
      request_id: requestId,
      trace_id: traceparent.split("-")[1],
      tenant,
      session: notes.session,
      method: request.method,
      route: notes.route,
      status,
      duration_ms: at - started,
      ...(notes.fault === null ? {} : faultOf(notes.fault)),
      code: notes.code,
    }),
  );
}
