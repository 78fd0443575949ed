/** Figures of the API (AP-8, AP-18, AP-25); `GET /v1/capabilities` shows them. */
export const limits = {
  body_bytes: 1024 * 1024,
  message_body_bytes: 8 * 1024 * 1024,
  json_depth: 64,
  parts_per_message: 64,
  wait_seconds: 300,
  frame_bytes: 256 * 1024,
  sockets_per_session: 32,
  waiting_inputs: 20,
  page: 200,
  events_page: 1000,
} as const;

/** Milliseconds. */
export const times = {
  heartbeat: 15_000,
  /** Between writes to a silent SSE reader: behind a proxy it takes two failed ones to notice that it left. */
  probe: 3_750,
  socketAuth: 5_000,
  credentialCache: 30_000,
} as const;
