import { deepestInput } from "../chat/json.ts";
import { longestUpload } from "../session/operations/uploads.ts";
import { streamLimits } from "../session/frames.ts";

/** Limits of the API, which `GET /v1/capabilities` shows. */
export const limits = {
  body_bytes: 1024 * 1024,
  message_body_bytes: 8 * 1024 * 1024,
  upload_bytes: longestUpload,
  workspace_file_bytes: 32 * 1024 * 1024,
  archive_bytes: 32 * 1024 * 1024,
  json_depth: deepestInput,
  parts_per_message: 64,
  wait_seconds: 300,
  frame_bytes: streamLimits.frame,
  sockets_per_session: streamLimits.sockets,
  waiting_inputs: 20,
  page: 200,
  events_page: 1000,
} as const;
