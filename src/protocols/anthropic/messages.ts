import type { Protocol } from "../protocol.ts";
import { createPost, sdkTimeout } from "../sdk.ts";
import { createAnthropicDecoder } from "./reply.ts";
import { buildAnthropic } from "./request.ts";

const path = "/v1/messages";

/** Loads the SDK's client. The caller adds address and key; explicit nulls stop it from looking for its own. */
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

/** The protocol of Anthropic's Messages API. */
export const anthropicMessages: Protocol = {
  name: "anthropic-messages",
  path,
  build: buildAnthropic,
  decoder: (request, _target, faults, requestId) => createAnthropicDecoder(request, faults, requestId),
  post: createPost(loadClient),
};
