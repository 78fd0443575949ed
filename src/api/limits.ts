import { deepestInput } from "../chat/json.ts";
import { mostEvents } from "../session/operations/queries.ts";
import { longestWait, mostWaiting } from "../session/operations/send.ts";
import { longestUpload, mostParts } from "../session/operations/uploads.ts";
import { mostRows } from "../session/paging.ts";
import { streamLimits } from "../session/frames.ts";

/** Limits of the API, which `GET /v1/capabilities` shows. */
export const limits = {
  body_bytes: 1024 * 1024,
  message_body_bytes: 8 * 1024 * 1024,
  upload_bytes: longestUpload,
  workspace_file_bytes: 32 * 1024 * 1024,
  archive_bytes: 32 * 1024 * 1024,
  json_depth: deepestInput,
  parts_per_message: mostParts,
  wait_seconds: longestWait,
  frame_bytes: streamLimits.frame,
  sockets_per_session: streamLimits.sockets,
  waiting_inputs: mostWaiting,
  page: mostRows,
  events_page: mostEvents,
} as const;
