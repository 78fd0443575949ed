import { openAiPost } from "../openai/chat.ts";
import type { Protocol } from "../protocol.ts";
import { createResponsesDecoder } from "./reply.ts";
import { buildResponses } from "./request.ts";

/** Protocol of OpenAI's Responses API, without state at the server: each request has the whole history. */
export const openAiResponses: Protocol = {
  name: "openai-responses",
  path: "/responses",
  build: buildResponses,
  decoder: createResponsesDecoder,
  post: openAiPost,
};
