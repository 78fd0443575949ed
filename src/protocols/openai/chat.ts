import { createPost } from "../protocol.ts";
import type { Protocol } from "../protocol.ts";
import { createOpenAiDecoder } from "./reply.ts";
import { buildOpenAi } from "./request.ts";

/** Posts as OpenAI's SDK does. */
export const openAiPost = createPost({
  accept: "text/event-stream",
  "content-type": "application/json",
  "user-agent": "OpenAI/JS 7.55.0",
});

/** Protocol of OpenAI's chat completions API, which many servers share. */
export const openAiChat: Protocol = {
  name: "openai-chat",
  path: "/chat/completions",
  build: buildOpenAi,
  decoder: createOpenAiDecoder,
  post: openAiPost,
};
