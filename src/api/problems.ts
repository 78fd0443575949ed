import { fieldsOf } from "../chat/json.ts";
import { ProblemError, problemBody, problemKinds } from "../session/problems.ts";
import type { Problem, ProblemCode } from "../session/problems.ts";

/** Answers refusals as `application/problem+json`. */

/** Builds the answer to a refused request; 429 and 503 say when to try again, 416 the size of the file. */
export function problemResponse(problem: Problem, requestId: string): Response {
  const { status } = problemKinds[problem.code];
  const headers = new Headers({ "Content-Type": "application/problem+json" });
  if (status === 401) headers.set("WWW-Authenticate", "Bearer");
  if (status === 429 || status === 503) {
    headers.set("Retry-After", String(Math.max(1, Math.ceil((problem.retryAfterMs ?? 1000) / 1000))));
  }
  const size = problem.meta?.["size"];
  if (status === 416 && typeof size === "number") headers.set("Content-Range", `bytes */${size}`);
  return new Response(JSON.stringify(problemBody(problem, requestId)), { status, headers });
}

/**
 * Returns the problem that a thrown value is to the caller; an internal fault reveals no more than that it
 * happened.
 */
export const problemOf = (thrown: unknown): Problem =>
  thrown instanceof ProblemError
    ? thrown.problem
    : { code: "internal", detail: "Something failed here; the request id names it in the logs." };

const isCode = (code: unknown): code is ProblemCode => typeof code === "string" && code in problemKinds;

/**
 * Reads a problem from a session's JSON (a refused upgrade, an `error` frame); returns `internal` for anything
 * else.
 */
export function readProblem(value: unknown): Problem {
  const { code, detail, retry_after_ms, errors, meta } = fieldsOf(value);
  if (!isCode(code) || typeof detail !== "string") return problemOf(null);
  return {
    code,
    detail,
    ...(typeof retry_after_ms === "number" ? { retryAfterMs: retry_after_ms } : {}),
    ...(Array.isArray(errors) ? { errors: errors as NonNullable<Problem["errors"]> } : {}),
    ...(typeof meta === "object" && meta !== null ? { meta: meta as NonNullable<Problem["meta"]> } : {}),
  };
}
