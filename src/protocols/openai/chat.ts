import type { Protocol } from "../protocol.ts";
import { createPost, sdkTimeout } from "../sdk.ts";
import { createOpenAiDecoder } from "./reply.ts";
import { buildOpenAi } from "./request.ts";

const path = "/chat/completions";

/** The SDK's client. Address and key are put in by the caller; explicit nulls keep it from looking for keys of its own. */
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

/** OpenAI's chat completions API and its many relatives. */
export const openAiChat: Protocol = {
  path,
  build: buildOpenAi,
  decoder: createOpenAiDecoder,
  post: createPost(loadClient),
};
