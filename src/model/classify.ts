import { fieldsOf, parseJson } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import { firstCharacters } from "../chat/text.ts";
import type { ModelErrorCode, ModelFailure } from "./error.ts";
import { modelError } from "./failure.ts";
import type { AttemptOrigin } from "./failure.ts";
import { isOverflow } from "./overflow.ts";
import { readHoldUntil, readRetryAfter, readShouldRetry, capWait } from "./rate-headers.ts";
import type { HeaderSource } from "./rate-headers.ts";

/** Error answer: an HTTP response other than a reply, or an error inside a stream (then `status` is absent or 200). */
export interface ErrorAnswer {
  readonly status?: number | undefined;
  readonly headers: HeaderSource;
  /** Body or the event's data, as text or parsed; the caller limits it to some kilobytes. */
  readonly body: Json;
}

interface ErrorDetails {
  /** HTTP status in the body, as Google and OpenRouter send it in a stream, and LiteLLM as a text. */
  readonly status: number | undefined;
  /** Error types and codes of the vendors, in lower case. */
  readonly types: ReadonlySet<string>;
  /** Vendor's sentence and other details of the body as text, used for recognition only and never shown. */
  readonly message: string;
  readonly details: string;
  /** Place in the request that is refused, as a path of names and numbers. */
  readonly param: string | undefined;
}

const pathPattern = /^\w{1,40}(?:[.[]\w{1,40}\]?){0,12}$/;

/** Returns the refused place, which OpenAI names and with which sentences of Anthropic begin. */
const readParam = (param: Json | undefined, message: string): string | undefined => {
  const path = typeof param === "string" ? param : /^(?=\w*[.[])([\w.[\]]{3,500}): /.exec(message)?.[1];
  return path !== undefined && pathPattern.test(path) ? path : undefined;
};

/** Returns a code that is an HTTP error status, also as a text; undefined for another. */
const readStatus = (code: Json | undefined): number | undefined => {
  const status = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
};

/** Adds to a router's error what the provider behind it said, which it wraps as a text or an object. */
const unwrapError = (own: ErrorDetails, wrapped: Json | undefined): ErrorDetails => {
  if (wrapped === undefined || wrapped === null || wrapped === "") return own;
  const cause = readErrorDetails(wrapped);
  return {
    ...cause,
    status: own.status ?? cause.status,
    message: cause.message || own.message,
    types: new Set([...own.types, ...cause.types]),
  };
};

/**
 * Reads the details of an error body, which is `{error: {…}}`, `{error: "…"}`, flat, in an array (Gemini), or
 * `{errors: [{…}]}` (Cloudflare), and may wrap another one in `metadata.raw` (OpenRouter).
 */
const readErrorDetails = (body: Json): ErrorDetails => {
  const parsed = typeof body === "string" ? (parseJson(body) ?? body) : body;
  const outer = fieldsOf(Array.isArray(parsed) ? parsed[0] : parsed);
  const { error, errors } = outer;
  const inner = fieldsOf(Array.isArray(errors) ? errors[0] : error);
  const named = [outer, inner].flatMap(({ type, code, status }) => [type, code, status]);
  const types = named.filter((name) => typeof name === "string").map((name) => name.toLowerCase());
  const status = [inner["code"], outer["code"]].map(readStatus).find((code) => code !== undefined);
  const sentences = [inner["message"], outer["message"], error, parsed];
  const message = sentences.find((sentence) => typeof sentence === "string") ?? "";
  const details = JSON.stringify(inner["details"] ?? outer["details"] ?? null);
  const own = { status, types: new Set(types), message, details, param: readParam(inner["param"], message) };
  return unwrapError(own, fieldsOf(inner["metadata"] ?? outer["metadata"])["raw"]);
};

/** OpenAI's reasons to fail a reply that it has begun which lie in the request, or in an image of it. */
const requestFaults =
  "invalid_prompt data_residency_mismatch bio_policy cyber_policy misalignment_policy_violation".split(" ");
const imageFaults =
  "image_content_policy_violation invalid_image invalid_image_format invalid_base64_image invalid_image_url invalid_image_mode image_too_large image_too_small image_parse_error image_file_too_large unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found".split(
    " ",
  );

const codesByType: Readonly<Record<string, ModelErrorCode>> = {
  rate_limit_error: "rate_limited",
  rate_limit_exceeded: "rate_limited",
  resource_exhausted: "rate_limited",
  overloaded_error: "overloaded",
  unavailable: "overloaded",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
  api_error: "server_error",
  server_error: "server_error",
  internal_server_error: "server_error",
  internal: "server_error",
  timeout_error: "timeout",
  deadline_exceeded: "timeout",
  insufficient_quota: "quota_exceeded",
  billing_error: "quota_exceeded",
  billing_hard_limit_reached: "quota_exceeded",
  authentication_error: "auth",
  invalid_api_key: "auth",
  permission_error: "auth",
  permission_denied: "auth",
  unauthenticated: "auth",
  not_found_error: "model_not_found",
  model_not_found: "model_not_found",
  not_found: "model_not_found",
  context_length_exceeded: "context_overflow",
  request_too_large: "context_overflow",
  exceed_context_size_error: "context_overflow",
  model_max_prompt_tokens_exceeded: "context_overflow",
  invalid_encrypted_content: "reasoning_refused",
  invalid_request_error: "invalid_request",
  invalid_argument: "invalid_request",
  ...Object.fromEntries(requestFaults.map((name) => [name, "invalid_request"] as const)),
  ...Object.fromEntries(imageFaults.map((name) => [name, "media_refused"] as const)),
};

const codesByStatus: Readonly<Record<number, ModelErrorCode>> = {
  401: "auth",
  402: "quota_exceeded",
  403: "auth",
  404: "model_not_found",
  408: "timeout",
  409: "server_error",
  413: "context_overflow",
  429: "rate_limited",
  503: "overloaded",
  529: "overloaded",
};

const outOfMoneyPattern =
  /credit balance|insufficient[ _](quota|credits?|balance|funds)|exceeded your current quota|billing hard limit|used all available credits|spending limit|specified API usage limits|(extra usage is|usage credits are) required/i;
/** Phrases of Anthropic, Google, OpenAI and xAI for reasoning that is not theirs, or not as and where they sent it. */
const refusedReasoning: readonly RegExp[] = [
  /invalid `?(signature|data)`? in `?(redacted_)?thinking/i,
  /thinking`? blocks in the latest assistant message cannot be modified/i,
  /when `?thinking`? is (disabled|enabled), an? .{0,40}assistant`? message/i,
  /thought.?signature is (not valid|invalid)|corrupted thought/i,
  /encrypted.(reasoning )?content\b.{0,99} (could not be (verified|decrypted)|not issued)/i,
  /could not decrypt the provided encrypted.content/i,
  /of type 'reasoning' was provided without|without its required 'reasoning' item/i,
];
/** Place of an image or document in a message or a result, as the vendors name it. */
const mediaPlace =
  /(content|output)[.[]\d+\]?\.(image|document|image_url|input_image|input_file|file|file_data|source)\b/;
/** Phrases of Anthropic, OpenAI, Google, xAI and vLLM for an image or document that they cannot take or fetch. */
const refusedMedia: readonly RegExp[] = [
  /(could not|cannot|unable to|failed to) (process|read|load|parse|decode|identify|open) (the |an? |input |provided )*(image|document|pdf|file)\b/i,
  /(unable|failed|error while|timeout while|could not|cannot) (to )?(download|fetch)/i,
  /\bimage exceeds\b|image dimensions exceed|\bimage (size|file) .{0,40}(exceeds|too (large|big|small))/i,
  /\bimage (does not match|was specified using|data you provided)\b/i,
  /\b(invalid|unsupported|corrupt(ed)?|empty) (base64 )?(image|document|pdf)\b/i,
  /\bimage (is not valid|is invalid|format is not supported)/i,
  /\bnot (a )?valid (image|pdf|document)\b/i,
  /\bpdf (specified|provided|file|document)? ?(was |is )?(not valid|invalid|password|encrypted|corrupt)|\bpdf pages\b|document has no pages/i,
  /\btoo many (images|documents|pdfs)\b|\bat most \d+ (image|document)/i,
  /\b(invalid|unsupported) (media_type|media type|mime ?type)\b/i,
];
const badKeyPattern =
  /api[_ ]key[_ ]invalid|(incorrect|invalid|missing) api[ _-]?key|api key (not valid|not found|expired)|organization has been disabled/i;

/**
 * Returns whether an error is a used-up quota. Google says "check your plan and billing" for limits per minute,
 * too; only its daily limits name the day.
 */
const isQuota = (
  { types, message, details }: ErrorDetails,
  codes: readonly ModelErrorCode[],
  status = 400,
): boolean => {
  if (codes.includes("quota_exceeded")) return true;
  if (types.has("resource_exhausted")) return /PerDay/i.test(details);
  return [400, 403, 429].includes(status) && outOfMoneyPattern.test(message);
};

/** Returns the code of a refusal that only its sentence tells from others. */
const codeOfPhrase = ({ message, details }: ErrorDetails): ModelErrorCode | undefined => {
  if (badKeyPattern.test(`${message} ${details}`)) return "auth";
  return refusedReasoning.some((phrase) => phrase.test(message)) ? "reasoning_refused" : undefined;
};

/** Returns whether a request is refused for an image or document in it. */
const refusesMedia = ({ param = "", message }: ErrorDetails): boolean =>
  mediaPlace.test(param) || refusedMedia.some((phrase) => phrase.test(message));

const codeOf = (details: ErrorDetails, status: number | undefined): ModelErrorCode => {
  const code = codeWithoutMedia(details, status);
  return code === "invalid_request" && !isRedirect(status) && refusesMedia(details) ? "media_refused" : code;
};

const codeWithoutMedia = (details: ErrorDetails, status: number | undefined): ModelErrorCode => {
  const codes = [...details.types].map((type) => codesByType[type]).filter((code) => code !== undefined);
  if (isRedirect(status)) return "invalid_request";
  if (isQuota(details, codes, status)) return "quota_exceeded";
  if (codes.includes("context_overflow") || isOverflow(details.message, status)) return "context_overflow";
  const phrased = (status ?? 400) < 500 ? codeOfPhrase(details) : undefined;
  if (phrased !== undefined) return phrased;
  const typed = codes.find((code) => code !== "invalid_request") ?? codes[0];
  return status === undefined ? (typed ?? "server_error") : codeOfStatus(status, typed);
};

const isRedirect = (status = 0): boolean => status >= 300 && status < 400;

/** Codes of a body's type that say more than an ambiguous status. */
const codesThatDecide: ReadonlySet<ModelErrorCode> = new Set([
  "model_not_found",
  "auth",
  "reasoning_refused",
  "media_refused",
]);

/**
 * Returns the code for a status; the body's type decides only if a status is ambiguous: other 4xx, and an overload
 * sent as 500.
 */
const codeOfStatus = (status: number, typed: ModelErrorCode | undefined): ModelErrorCode => {
  const known = codesByStatus[status];
  if (known !== undefined) return known;
  if (status >= 500) return typed === "overloaded" ? "overloaded" : "server_error";
  return typed !== undefined && codesThatDecide.has(typed) ? typed : "invalid_request";
};

const sentences: Readonly<Record<ModelErrorCode, string>> = {
  rate_limited: "The provider limits the rate of calls",
  overloaded: "The provider is overloaded",
  server_error: "The provider failed",
  network: "The connection to the provider failed",
  platform_limit: "The platform permits no more requests for now",
  timeout: "The provider timed out",
  truncated_stream: "The provider's reply was cut off",
  protocol_error: "The provider's answer could not be understood",
  quota_exceeded: "The provider account has no quota or credit left",
  auth: "The provider refuses the key or its permissions",
  model_not_found: "The provider does not know the model or the address",
  reasoning_refused: "The provider refuses reasoning that it sent before",
  media_refused: "The provider refuses an image or document",
  context_overflow: "The request is longer than the model's context window",
  invalid_request: "The provider refuses the request",
  cancelled: "The call was cancelled",
};

/** OpenAI's phrases for a model, or tools with it, that it refuses over chat completions. */
const needsResponses = /\b(supported in|use) \/?v1\/responses\b/i;

/** Refusals whose cause only the vendor's sentence tells; it may quote secrets, and is shown by nothing but `debug.raw`. */
const refusals: ReadonlySet<ModelErrorCode> = new Set([
  "invalid_request",
  "model_not_found",
  "media_refused",
]);

/** Returns what a team can do about a failure, as a sentence with a space before it. */
const adviceFor = (code: ModelErrorCode, { message }: ErrorDetails): string => {
  if (code === "auth") return " Check the secret in its api_key or headers, and what that key may do.";
  if (needsResponses.test(message)) return " Set protocol: openai-responses for this provider.";
  return refusals.has(code) ? " With debug.raw: events its own words are shown live." : "";
};

/** Characters of a model target's name in a message, which leave room for the rest. */
const longestTarget = 120;

/**
 * Returns the message for a failure: it names the model target, the status, the error type and the refused place, and
 * never quotes the vendor's sentence.
 */
const messageOf = (
  code: ModelErrorCode,
  { provider, model }: AttemptOrigin,
  answer: ErrorDetails,
  status: number | undefined,
): string => {
  const type = [...answer.types].find((name) => codesByType[name] !== undefined);
  const place = code === "invalid_request" || code === "media_refused" ? answer.param : undefined;
  const known = [status === undefined ? undefined : `HTTP ${status}`, type, place];
  const target = firstCharacters(`${provider}/${model}`, longestTarget);
  const details = [target, ...known.filter((detail) => detail !== undefined)];
  return `${sentences[code]} (${details.join(", ")}).${adviceFor(code, answer)}`;
};

/** Returns the wait that the answer asks for; Google sends it in the body (`details[].retryDelay`, in seconds). */
const waitOf = (headers: HeaderSource, { details }: ErrorDetails, now: number): number | undefined => {
  const seconds = /"retryDelay":"(\d+(?:\.\d+)?)s"/.exec(details)?.[1];
  const inBody = seconds === undefined ? undefined : capWait(Number(seconds) * 1000);
  return readRetryAfter(headers, now) ?? inBody;
};

/** Returns whether a request exceeds by itself what a provider allows in a minute: it would be refused at any time. */
const isBeyondLimit = (code: ModelErrorCode, { message }: ErrorDetails): boolean =>
  code === "rate_limited" && /^request too large\b/i.test(message);

/**
 * Classifies an error answer: by type, by phrase for quota and context overflow, else by status. The message
 * contains only known error types of the body. `now` is in milliseconds since the epoch.
 */
export const classify = (answer: ErrorAnswer, origin: AttemptOrigin, now: number): ModelFailure => {
  const { headers } = answer;
  const details = readErrorDetails(answer.body);
  const status = (answer.status ?? 0) < 300 ? details.status : answer.status;
  const code = codeOf(details, status);
  const wait = waitOf(headers, details, now);
  const held = readHoldUntil(headers, now);
  const asked = code === "context_overflow" ? undefined : readShouldRetry(headers);
  const override = isBeyondLimit(code, details) ? false : asked;
  const requestId = headers.get("request-id") ?? headers.get("x-request-id");
  return modelError(code, origin, messageOf(code, origin, details, status), {
    ...(status !== undefined && { status }),
    ...(wait !== undefined && { retryAfterMs: wait }),
    ...(held !== undefined && { holdUntil: held }),
    ...(override !== undefined && { retryable: override }),
    ...(requestId !== null && { requestId: requestId.slice(0, 100) }),
  }).failure;
};
