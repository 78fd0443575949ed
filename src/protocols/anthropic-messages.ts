import { buildAnthropic } from "./anthropic-request.ts";
import { anthropicDecoder } from "./anthropic-reply.ts";
import type { Protocol } from "./protocol.ts";
import { clientOf, sdkTimeout, slim } from "./sdk.ts";

const path = "/v1/messages";

const loadClient = async (fetch: typeof globalThis.fetch) => {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  // Address and key are put in by the caller and `fetch`; explicit nulls keep the SDK from looking for keys and profiles of its own.
  const client = new Anthropic({
    baseURL: "https://unset.invalid",
    fetch,
    authToken: "unset",
    apiKey: null,
    maxRetries: 0,
    logLevel: "off",
    timeout: sdkTimeout,
    openTelemetry: false,
  });
  return slim(client, fetch);
};

/** Anthropic's Messages API (MO-8 to MO-13). */
export const anthropicMessages: Protocol = {
  path,
  build: buildAnthropic,
  decoder: (request, _target, faults, requestId) => anthropicDecoder(request, faults, requestId),
  post: async (address, fetch, body, signal) => {
    const client = await clientOf(fetch, () => loadClient(fetch));
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    return client.post(address, { body, headers, signal }).asResponse();
  },
};
