import type { Protocol } from "../protocol.ts";
import { createPost, sdkTimeout } from "../sdk.ts";
import { createAnthropicDecoder } from "./reply.ts";
import { buildAnthropic } from "./request.ts";

const path = "/v1/messages";

/** The SDK's client. Address and key are put in by the caller; explicit nulls keep it from looking for keys and profiles of its own. */
const loadClient = async () => {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  return new Anthropic({
    baseURL: "https://unset.invalid",
    authToken: "unset",
    apiKey: null,
    maxRetries: 0,
    logLevel: "off",
    timeout: sdkTimeout,
    openTelemetry: false,
  });
};

/** Anthropic's Messages API. */
export const anthropicMessages: Protocol = {
  path,
  build: buildAnthropic,
  decoder: (request, _target, faults, requestId) => createAnthropicDecoder(request, faults, requestId),
  post: createPost(loadClient),
};
