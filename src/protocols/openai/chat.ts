import type { Protocol } from "../protocol.ts";
import { createPost, sdkTimeout } from "../sdk.ts";
import { createOpenAiDecoder } from "./reply.ts";
import { buildOpenAi } from "./request.ts";

const path = "/chat/completions";

/** Loads the SDK's client. The caller adds address and key; explicit nulls stop it from looking for its own keys. */
const loadClient = async () => {
  const { OpenAI } = await import("openai");
  return new OpenAI({
    baseURL: "https://unset.invalid",
    apiKey: "unset",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: "off",
    timeout: sdkTimeout,
  });
};

/** The protocol of OpenAI's chat completions API, which many servers share. */
export const openAiChat: Protocol = {
  name: "openai-chat",
  path,
  build: buildOpenAi,
  decoder: createOpenAiDecoder,
  post: createPost(loadClient),
};
