import { createPost } from "../protocol.ts";
import type { Protocol } from "../protocol.ts";
import { createAnthropicDecoder } from "./reply.ts";
import { buildAnthropic } from "./request.ts";

/** Protocol of Anthropic's Messages API. */
export const anthropicMessages: Protocol = {
  name: "anthropic-messages",
  path: "/v1/messages",
  build: buildAnthropic,
  decoder: (request, _target, faults, requestId) => createAnthropicDecoder(request, faults, requestId),
  post: createPost({
    accept: "text/event-stream",
    "anthropic-version": "2026-10-21",
    "content-type": "application/json",
    "user-agent": "Anthropic/JS 1.11.0",
  }),
};
