import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { classify } from "../../src/model/classify.ts";
import type { ModelErrorCode } from "../../src/model/error.ts";
import { readHoldUntil } from "../../src/model/rate-headers.ts";

const origin = { provider: "default", model: "m" };
const now = Date.parse("2026-11-21T12:00:00Z");
const at = (status: number | undefined, body: Json = "", headers: Record<string, string> = {}) =>
  classify({ status, body, headers: new Headers(headers) }, origin, now);
const error = (fields: { readonly [key: string]: Json }): Json => ({ error: fields });

test.each<[number, ModelErrorCode, boolean]>([
  [429, "rate_limited", true],
  [503, "overloaded", true],
  [529, "overloaded", true],
  [500, "server_error", true],
  [502, "server_error", true],
  [504, "server_error", true],
  [520, "server_error", true],
  [409, "server_error", true],
  [408, "timeout", true],
  [402, "quota_exceeded", false],
  [401, "auth", false],
  [403, "auth", false],
  [404, "model_not_found", false],
  [413, "context_overflow", false],
  [400, "invalid_request", false],
  [422, "invalid_request", false],
  [418, "invalid_request", false],
  [301, "invalid_request", false],
  [307, "invalid_request", false],
])("MO-25 RE-F3: HTTP %i is %s", (status, code, retryable) => {
  expect(at(status, "<html>gateway</html>")).toMatchObject({
    code,
    retryable,
    status,
    provider: "default",
    model: "m",
  });
});

test.each<[string, Json]>([
  ["OpenAI's code", error({ type: "invalid_request_error", code: "context_length_exceeded", message: "x" })],
  [
    "OpenAI",
    error({
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    }),
  ],
  [
    "OpenAI responses",
    error({ message: "Your input exceeds the context window of this model. Please adjust your input." }),
  ],
  [
    "Anthropic",
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
    },
  ],
  [
    "Anthropic with max_tokens",
    error({ message: "input length and `max_tokens` exceed context limit: 199000 + 21333 > 200000" }),
  ],
  [
    "Gemini",
    [
      error({
        code: 400,
        status: "INVALID_ARGUMENT",
        message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      }),
    ],
  ],
  [
    "xAI",
    error({
      message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    }),
  ],
  ["Groq", error({ message: "Please reduce the length of the messages or completion." })],
  [
    "llama.cpp",
    error({
      type: "exceed_context_size_error",
      message: "the request exceeds the available context size, try increasing it",
    }),
  ],
  ["Ollama", { error: "prompt too long; exceeded max context length by 12 tokens" }],
  [
    "LM Studio",
    error({
      message: "The number of tokens to keep from the initial prompt is greater than the context length.",
    }),
  ],
  [
    "vLLM",
    {
      object: "error",
      message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
      code: 400,
    },
  ],
  ["Bedrock", { message: "Input is too long for requested model." }],
  ["Cohere", { message: "too many tokens: total number of tokens in the prompt cannot exceed 4081" }],
  [
    "TGI",
    { error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000" },
  ],
  [
    "Copilot",
    error({
      code: "model_max_prompt_tokens_exceeded",
      message: "prompt token count of 70000 exceeds the limit of 64000",
    }),
  ],
  ["Moonshot", error({ message: "Invalid request: Your request exceeded model token limit: 8192" })],
  ["MiniMax", error({ message: "invalid params, context window exceeds limit (2013)" })],
  [
    "Workers AI",
    error({
      message:
        "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8000).",
    }),
  ],
  ["Z.ai", error({ code: "1261", message: "Prompt exceeds max length" })],
  [
    "SGLang",
    {
      object: "error",
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      type: "BadRequestError",
    },
  ],
  [
    "SGLang without memory",
    error({
      message: "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    }),
  ],
  ["Qwen", error({ code: "invalid_parameter_error", message: "Range of input length should be [1, 30720]" })],
  [
    "Vertex AI",
    error({
      message:
        "Unable to submit request because the input token count is 1192541 but model only supports up to 1048576.",
    }),
  ],
])("MO-25: %s says that the context overflows", (_, body) => {
  expect(at(400, body)).toMatchObject({ code: "context_overflow", retryable: false });
  expect(at(400, JSON.stringify(body)).code).toBe("context_overflow");
  expect(at(undefined, body).code).toBe("context_overflow");
});

test("MO-25: a request beyond the limit per minute is not tried again, whatever wait the answer names", () => {
  const tooLarge =
    "Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.";
  const answer = error({ type: "tokens", code: "rate_limit_exceeded", message: tooLarge });
  const told = { "x-should-retry": "true", "retry-after": "20" };
  expect(at(429, answer, told)).toMatchObject({ code: "rate_limited", retryable: false });
  const full = error({
    code: "rate_limit_exceeded",
    message:
      "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 20000, Requested 15000.",
  });
  expect(at(429, full)).toMatchObject({ code: "rate_limited", retryable: true });
});

test("MO-25: what only sounds like an overflow is none", () => {
  const perMinute = error({
    code: "rate_limit_exceeded",
    message:
      "Request too large on tokens per min (TPM): Limit 30000, Requested 40000. Please reduce the length of the messages.",
  });
  expect(at(429, perMinute).code).toBe("rate_limited");
  const cap = error({
    type: "invalid_request_error",
    message: "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
  });
  expect(at(400, cap).code).toBe("invalid_request");
});

test.each<[number, Json]>([
  [
    429,
    error({
      type: "insufficient_quota",
      code: "insufficient_quota",
      message: "You exceeded your current quota",
    }),
  ],
  [
    400,
    error({ type: "invalid_request_error", message: "Your credit balance is too low to access the API." }),
  ],
  [403, error({ type: "billing_error", message: "x" })],
  [429, error({ message: "Your team has used all available credits" })],
  [
    429,
    [
      error({
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [{ quotaId: "GenerateRequestsPerDayPerProject" }],
      }),
    ],
  ],
])("MO-25 RE-F2: %i with %j is quota_exceeded", (status, body) => {
  expect(at(status, body)).toMatchObject({ code: "quota_exceeded", retryable: false });
});

test("MO-16 MO-25: Google's limit per minute speaks of billing, but is a rate limit with its wait in the body", () => {
  const body = [
    error({
      code: 429,
      status: "RESOURCE_EXHAUSTED",
      message: "You exceeded your current quota, please check your plan and billing details.",
      details: [{ "@type": "google.rpc.RetryInfo", retryDelay: "34.5s" }],
    }),
  ];
  expect(at(429, body)).toMatchObject({ code: "rate_limited", retryAfterMs: 34_500 });
});

test("MO-25: a bad key told as 400, a model unknown told as 400", () => {
  expect(
    at(400, [
      error({ message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" }),
    ]).code,
  ).toBe("auth");
  expect(at(400, { error: "Incorrect API key provided: xai-1234" }).code).toBe("auth");
  expect(at(400, error({ code: "model_not_found", message: "x" })).code).toBe("model_not_found");
});

test.each<[string, ModelErrorCode]>([
  ["overloaded_error", "overloaded"],
  ["api_error", "server_error"],
  ["rate_limit_error", "rate_limited"],
  ["authentication_error", "auth"],
  ["invalid_request_error", "invalid_request"],
  ["some_new_error", "server_error"],
])("MO-19 RE-F6: an error event of type %s in the stream is %s, also under status 200", (type, code) => {
  const body = { type: "error", error: { type, message: "x" } };
  expect(at(undefined, body)).toMatchObject({ code });
  expect(at(200, body)).toMatchObject({ code });
  expect(at(200, body).status).toBeUndefined();
});

/** Error of a router of models, which holds that of the provider behind it as a text or as an object. */
const routed = (code: number, raw: Json): Json =>
  error({ message: "Provider returned error", code, metadata: { raw, provider_name: "Lagoon" } });

test.each<[ModelErrorCode, number, Json]>([
  ["context_overflow", 400, JSON.stringify(error({ message: "prompt is too long: 9 tokens > 8 maximum" }))],
  ["context_overflow", 400, error({ type: "invalid_request_error", code: "context_length_exceeded" })],
  ["media_refused", 400, JSON.stringify(error({ message: "Model m supports at most 1 image per prompt." }))],
  ["quota_exceeded", 429, "You exceeded your current quota, please check your plan."],
  ["rate_limited", 429, "lagoon/m is temporarily rate-limited upstream. Please retry shortly."],
  ["reasoning_refused", 400, [error({ message: "Thought signature is not valid", code: 400 })]],
  ["invalid_request", 400, ""],
  ["server_error", 502, null],
])("MO-25: a router's error is %s by that of the provider behind it", (code, status, raw) => {
  expect(at(status, routed(status, raw))).toMatchObject({ code, status });
  expect(at(undefined, routed(status, raw))).toMatchObject({ code, status });
});

test("MO-25: a router's error names the type and the place of the provider's, or else its own words", () => {
  const raw = { error: { type: "invalid_request_error", param: "input", message: "Say json.", code: null } };
  expect(at(400, routed(400, JSON.stringify(raw))).message).toContain("invalid_request_error, input)");
  const message = "prompt is too long: 9 tokens > 8 maximum";
  expect(at(400, error({ message, metadata: { raw: {} } })).code).toBe("context_overflow");
});

test("MO-19: an error in a stream may hold its status as a number", () => {
  expect(at(undefined, error({ code: 400, message: "x" })).code).toBe("invalid_request");
  expect(at(200, { type: "error", error: { code: 503, message: "x" } }).code).toBe("overloaded");
});

test.each<[string, ModelErrorCode]>([
  ["server_error", "server_error"],
  ["server_is_overloaded", "overloaded"],
  ["slow_down", "overloaded"],
  ["invalid_prompt", "invalid_request"],
  ["cyber_policy", "invalid_request"],
  ["image_content_policy_violation", "media_refused"],
  ["invalid_image_format", "media_refused"],
  ["failed_to_download_image", "media_refused"],
  ["data_residency_mismatch", "invalid_request"],
  ["a_code_of_next_year", "server_error"],
])("MO-25: a reply that fails in its stream with %s is %s", (code, expected) => {
  expect(at(undefined, error({ code, message: "x" })).code).toBe(expected);
});

test.each([
  { error: { type: "invalid_request_error", code: "invalid_encrypted_content", message: "x" } },
  {
    code: "invalid-argument",
    error: "Could not decrypt the provided encrypted_content. Ensure the value is unmodified.",
  },
  error({
    type: "invalid_request_error",
    message: "The encrypted content gAAA...DQ== could not be verified.",
  }),
  error({
    type: "invalid_request_error",
    message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
  }),
  error({
    type: "invalid_request_error",
    message: "reasoning encrypted_content was not issued to this caller",
  }),
  error({
    type: "invalid_request_error",
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  }),
  error({
    type: "invalid_request_error",
    message: "messages.23.content.2: Invalid `data` in `redacted_thinking` block",
  }),
  error({
    type: "invalid_request_error",
    message:
      "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
  }),
  error({
    type: "invalid_request_error",
    message:
      "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.",
  }),
  error({
    type: "invalid_request_error",
    message:
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
  }),
  [error({ code: 400, status: "INVALID_ARGUMENT", message: "Thought signature is not valid." })],
])("MO-3 MO-25: %j is reasoning that the provider refuses", (body) => {
  expect(at(400, body)).toMatchObject({ code: "reasoning_refused", retryable: false });
});

test.each([
  "Could not process image",
  "messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
  "messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
  "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes",
  "messages.3.content.0.tool_result.content.1.image.source.base64: x",
  "messages.0.content.1.image.source.base64.data: The image was specified using the image/png media type, but the image appears to be a image/jpeg image",
  "too many images and documents: 104 + 1 > 100",
  "Unable to download the file. Please verify the URL and try again.",
  "messages.0.content.0.document.source.base64.data: The PDF specified was not valid.",
  "messages.0.content.0.pdf.source.base64.data: The PDF specified is password protected.",
  "A maximum of 100 PDF pages may be provided.",
  "You uploaded an unsupported image. Please make sure your image is valid.",
  "The image data you provided does not represent a valid image.",
  "Invalid image data",
  "Error while downloading https://example.com/x.png.",
  "Unable to process input image. Please retry or report in the troubleshooting guide.",
  "Provided image is not valid.",
  "The document has no pages.",
  "At most 1 image(s) may be provided in one request.",
  "cannot identify image file",
])("MO-25: a request that is refused with %j is refused for its media", (message) => {
  const body = error({ type: "invalid_request_error", message });
  expect(at(400, body)).toMatchObject({ code: "media_refused", retryable: false });
  expect(at(429, body).code).toBe("rate_limited");
});

test.each([
  "messages[0].content[1].image_url",
  "input[2].content[1].image_url",
  "input[5].output[1].file_data",
])("MO-25: a refusal of %s names media", (param) => {
  const failure = at(400, error({ type: "invalid_request_error", message: "Invalid value.", param }));
  expect(failure).toMatchObject({ code: "media_refused" });
  expect(failure.message).toContain(param);
});

test.each([
  "tools.0.custom.input_schema.properties.image: invalid",
  "messages.3.content.0.tool_use.input.image: invalid",
  "The model gpt-image-1 does not support tools.",
  "max_tokens: 999999 > 128000, which is the maximum allowed number of output tokens",
])("MO-25: a refusal with %j is none of media", (message) => {
  expect(at(400, error({ type: "invalid_request_error", message })).code).toBe("invalid_request");
});

test.each<[Record<string, string>, number | undefined]>([
  [{ "retry-after": "2" }, 2000],
  [{ "retry-after": "1.5" }, 1500],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "3600" }, 3_600_000],
  [{ "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, undefined],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "" }, undefined],
  [{ "retry-after": "1e306" }, 366 * 86_400_000],
  [{ "retry-after-ms": "1e308" }, 366 * 86_400_000],
  [{ "retry-after": "Fri, 31 Dec 9999 00:00:00 GMT" }, 366 * 86_400_000],
  [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
  [{ "retry-after-ms": "x", "retry-after": "9" }, 9000],
  [{}, undefined],
])("MO-26 RE-F1: %j asks to wait %s ms", (headers, expected) => {
  expect(at(429, "", headers).retryAfterMs).toBe(expected);
});

test("MO-25: x-should-retry overrides the column, but not for an overflow", () => {
  expect(at(400, "", { "x-should-retry": "true" }).retryable).toBe(true);
  expect(at(529, "", { "x-should-retry": "false" }).retryable).toBe(false);
  expect(at(413, "", { "x-should-retry": "true" }).retryable).toBe(false);
});

test("MO-25 MO-41: nothing of a body gets into the message but known error types", () => {
  const canary = "canary-7f3a";
  for (const status of [undefined, 200, 301, 400, 401, 402, 404, 413, 429, 500]) {
    for (const body of [
      canary,
      error({ message: canary, type: canary, code: canary, param: canary }),
      [canary],
      { error: canary },
    ]) {
      const { message } = at(status, body, { "request-id": "req_9" });
      expect(message).not.toContain("canary");
      expect(message.length).toBeLessThanOrEqual(300);
    }
  }
  const told = at(529, { error: { type: "overloaded_error", message: canary } }, { "request-id": "req_9" });
  expect(told).toMatchObject({
    requestId: "req_9",
    message: "The provider is overloaded (default/m, HTTP 529, overloaded_error).",
  });
});

test("MO-25: long names leave room for the way out within 300 characters", () => {
  const long = { provider: "p".repeat(64), model: "m".repeat(200) };
  const body = error({ code: "invalid_api_key" });
  const { message } = classify({ status: 401, body, headers: new Headers() }, long, now);
  expect(message).toMatch(/^The provider refuses the key .{120,}what that key may do\.$/);
  expect(message.length).toBeLessThanOrEqual(300);
});

test("MO-26: a wait told in the body ends within a year, too", () => {
  const body = error({ details: [{ retryDelay: `${"9".repeat(400)}s` }] });
  expect(at(429, body).retryAfterMs).toBe(366 * 86_400_000);
});

const hold = (headers: Record<string, string>) => {
  const until = readHoldUntil(new Headers(headers), now);
  return until === undefined ? undefined : until - now;
};

test("MO-30: at most one left and a reset ahead hold later calls, in every vendor's notation", () => {
  const anthropic = (remaining: string) => ({
    "anthropic-ratelimit-requests-remaining": remaining,
    "anthropic-ratelimit-requests-reset": "2026-11-21T12:00:20Z",
  });
  expect([hold(anthropic("0")), hold(anthropic("1")), hold(anthropic("2"))]).toEqual([
    20_000,
    20_000,
    undefined,
  ]);
  const openai = (reset: string) =>
    hold({ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": reset });
  expect(["6m0s", "1.5s", "20ms", "30", String(now / 1000 + 9), String(now + 7)].map(openai)).toEqual([
    360_000, 1500, 20, 30_000, 9000, 7,
  ]);
});

test("MO-30: a missing remaining is not exhaustion, a past or unreadable reset holds nothing", () => {
  expect(hold({ "x-ratelimit-reset-requests": "60s" })).toBeUndefined();
  expect(hold({ "x-ratelimit-remaining-requests": "", "x-ratelimit-reset-requests": "60s" })).toBeUndefined();
  expect(
    hold({ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "later" }),
  ).toBeUndefined();
  expect(
    hold({
      "anthropic-ratelimit-tokens-remaining": "0",
      "anthropic-ratelimit-tokens-reset": "2026-11-21T11:00:00Z",
    }),
  ).toBeUndefined();
  expect(hold({})).toBeUndefined();
  const told = (reset: string) =>
    hold({ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset });
  expect(["24h", "25h", "1e9", "1e300", "1e306"].map(told)).toEqual([86_400_000, ...Array<undefined>(4)]);
});

test.each<[string, number, Json, string]>([
  [
    "OpenAI",
    400,
    error({
      message: "Unsupported value: 'canary'",
      type: "invalid_request_error",
      param: "reasoning.effort",
    }),
    "The provider refuses the request (default/m, HTTP 400, invalid_request_error, reasoning.effort). With debug.raw: events its own words are shown live.",
  ],
  [
    "Anthropic",
    400,
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "tools.0.custom.input_schema: JSON schema is invalid. canary",
      },
    },
    "The provider refuses the request (default/m, HTTP 400, invalid_request_error, tools.0.custom.input_schema). With debug.raw: events its own words are shown live.",
  ],
  [
    "a sentence without a place",
    400,
    error({ message: "canary: no", type: "invalid_request_error", param: "a canary's sentence" }),
    "The provider refuses the request (default/m, HTTP 400, invalid_request_error). With debug.raw: events its own words are shown live.",
  ],
  [
    "a model that is not asked over chat completions",
    404,
    error({
      message: "This model is only supported in v1/responses and not in v1/chat/completions.",
      type: "invalid_request_error",
      param: "model",
    }),
    "The provider does not know the model or the address (default/m, HTTP 404, invalid_request_error). Set protocol: openai-responses for this provider.",
  ],
  [
    "tools that a model does not take over chat completions",
    400,
    error({
      message:
        "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.",
      type: "invalid_request_error",
      param: "reasoning_effort",
    }),
    "The provider refuses the request (default/m, HTTP 400, invalid_request_error, reasoning_effort). Set protocol: openai-responses for this provider.",
  ],
  [
    "a server without the Responses API",
    404,
    error({ message: "Invalid URL (POST /v1/responses)", type: "invalid_request_error" }),
    "The provider does not know the model or the address (default/m, HTTP 404, invalid_request_error). With debug.raw: events its own words are shown live.",
  ],
  [
    "a long sentence of nothing but dots",
    400,
    error({ message: ".".repeat(60_000), type: "invalid_request_error" }),
    "The provider refuses the request (default/m, HTTP 400, invalid_request_error). With debug.raw: events its own words are shown live.",
  ],
])("MO-25: the message says where a request is refused, not how: %s", (_, status, body, message) => {
  expect(at(status, body).message).toBe(message);
});
