import { randomHex } from "../engine/access/encoding.ts";
import { randomBits } from "../engine/access/names.ts";
import type { RequestContext } from "./context.ts";
import { describeFault, isLogged, tenantHash } from "../tools/log-line.ts";
import type { LogLevel } from "../tools/log-line.ts";
import { problemKinds } from "../session/problems.ts";
import type { ProblemCode } from "../session/problems.ts";

/** Logs one JSON line per request without its query or texts, and with the tenant as a hash. */

export const createRequestId = (): string => `req_${randomBits()}`;

/** Continues the caller's W3C trace, or begins one. */
export function traceOf(request: Request): string {
  const sent = request.headers.get("traceparent") ?? "";
  const [, trace = "", flags = "01"] =
    /^00-([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/.exec(sent) ?? [];
  const valid = trace !== "" && !/^0+$/.test(trace);
  return `00-${valid ? trace : randomHex(16)}-${randomHex(8)}-${valid ? flags : "01"}`;
}

const levelOf = (status: number, code: ProblemCode | null): LogLevel => {
  if (status < 500) return "info";
  return code !== null && problemKinds[code].retryable ? "warn" : "error";
};

/** Writes the log line of a request that was answered. */
export function logRequest(context: RequestContext, status: number, started: number): void {
  const { router, request, requestId, traceparent, notes } = context;
  const level = levelOf(status, notes.code);
  if (!isLogged(level, router.team.observability.log_level)) return;
  const at = router.now();
  router.log(
    router.logLine({
      at: new Date(at).toISOString(),
      level,
      msg: "request",
      request_id: requestId,
      trace_id: traceparent.split("-")[1],
      tenant: notes.tenant === null ? null : tenantHash(notes.tenant),
      session: notes.session,
      method: request.method,
      route: notes.route,
      status,
      duration_ms: at - started,
      ...(notes.fault === null ? {} : describeFault(notes.fault)),
      code: notes.code,
    }),
  );
}
