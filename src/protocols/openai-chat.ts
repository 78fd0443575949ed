import { openAiDecoder } from "./openai-reply.ts";
import { buildOpenAi } from "./openai-request.ts";
import type { Protocol } from "./protocol.ts";
import { clientOf, sdkTimeout, slim } from "./sdk.ts";

const path = "/chat/completions";

const loadClient = async (fetch: typeof globalThis.fetch) => {
  const { OpenAI } = await import("openai");
  // Address and key are put in by the caller and `fetch`; explicit nulls keep the SDK from looking for keys of its own.
  const client = new OpenAI({
    baseURL: "https://unset.invalid",
    fetch,
    apiKey: "unset",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: "off",
    timeout: sdkTimeout,
  });
  return slim(client, fetch);
};

/** OpenAI's chat completions API and its many relatives (MO-14 to MO-18). */
export const openAiChat: Protocol = {
  path,
  build: buildOpenAi,
  decoder: openAiDecoder,
  post: async (address, fetch, body, signal) => {
    const client = await clientOf(fetch, () => loadClient(fetch));
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    return client.post(address, { body, headers, signal }).asResponse();
  },
};
