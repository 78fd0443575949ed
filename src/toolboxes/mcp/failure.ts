import {
  InsufficientScopeError,
  ProtocolError,
  SdkErrorCode,
  SdkError,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { firstCharacters } from "../../chat/text.ts";
import { errorMessageOf } from "../../tools/errors.ts";
import { AuthorizationError } from "./authorized-send.ts";
import type { McpEndpoint } from "./port.ts";

/** Explains in a sentence why a server could not be used, without the full text of the server or the network. */

const longestReason = 300;

type Redact = McpEndpoint["redact"];

const firstWords = (error: unknown, redact: Redact): string =>
  firstCharacters(redact(errorMessageOf(error)), longestReason);

/** Returns the HTTP status of an error; null if it has none. */
export const statusOf = (error: unknown): number | null => {
  if (error instanceof InsufficientScopeError) return 403;
  return error instanceof SdkHttpError ? (error.status ?? null) : null;
};

/** Returns whether the server refused the credentials. */
export const isAuthFailure = (error: unknown): boolean =>
  error instanceof UnauthorizedError || statusOf(error) === 401 || statusOf(error) === 403;

/** Returns why a server could not be reached. */
export const reasonOf = (error: unknown, redact: Redact): string => {
  if (isAuthFailure(error)) return "the server refused the credentials";
  const status = statusOf(error);
  if (status !== null) return `the server answered ${status}`;
  if (error instanceof ProtocolError)
    return `the server answered with an error: ${firstWords(error, redact)}`;
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return "no answer came in time";
  // The library goes on with a list of its expectations.
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return `the server's answer cannot be read: ${firstWords(error, redact).split(":")[0]}`;
  if (error instanceof Error && error.name === "ZodError") return "the server's answer is not an MCP message";
  return firstWords(error, redact);
};

/** Failure of a listing. */
export class McpFailure extends Error {
  /** Whether the server wants other credentials. */
  readonly isAuth: boolean;
  /** Address at which a person signs in; null if that would not help. */
  readonly login: string | null;
  constructor(reason: string, isAuth: boolean, login: string | null) {
    super(reason);
    this.name = "McpFailure";
    this.isAuth = isAuth;
    this.login = login;
  }
}

/** Returns the failure of a listing. */
export const failureOf = (error: unknown, redact: Redact): McpFailure => {
  const { login, isLogin } = error instanceof AuthorizationError ? error : { login: null, isLogin: false };
  return new McpFailure(reasonOf(error, redact), isLogin || isAuthFailure(error), login);
};
