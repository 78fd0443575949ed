/** Groups the routes by what people want to do. */

export interface TaskGroup {
  readonly title: string;
  readonly says: string;
  /** Routes by their ids, in the order in which a reader needs them. */
  readonly routes: readonly string[];
  /** Example calls. */
  readonly calls: readonly ShownCall[];
}

/** Request that the reference shows. */
export interface ShownCall {
  readonly route: string;
  readonly query?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export const tasks: readonly TaskGroup[] = [
  {
    title: "Talk to an agent",
    says: "Create a session, send messages, wait for the answer.",
    routes: ["create", "send", "send_and_wait", "cancel", "list_sessions", "get", "patch", "delete"],
    calls: [
      { route: "create", body: { ref: "ticket-4711", input: "Why is the build red?" } },
      { route: "send_and_wait", body: { content: "And who broke it?" } },
      { route: "send", body: { content: "Look at main only.", on_busy: "steer" } },
    ],
  },
  {
    title: "Follow a session",
    says: "Read or stream its events; start from a snapshot.",
    routes: ["events", "connect", "snapshot", "messages", "runs", "run", "threads"],
    calls: [
      { route: "events", query: "?after=0&limit=100" },
      { route: "events", query: "?live=sse&after=0" },
    ],
  },
  {
    title: "Answer what agents ask",
    says: "Questions, approvals, client tools, logins, higher budgets.",
    routes: ["asks", "answer", "respond", "list_asks", "list_grants", "revoke_grant"],
    calls: [
      { route: "asks", query: "?status=open" },
      { route: "answer", body: { decision: "approve", remember: "session" } },
      { route: "answer", body: { decision: "answer", text: "The red one." } },
    ],
  },
  {
    title: "Change what waits",
    says: "Messages that were sent during a run wait in the inbox until it takes them.",
    routes: ["inputs", "input", "edit_input", "withdraw"],
    calls: [{ route: "inputs" }],
  },
  {
    title: "Shape the history",
    says: "Start over, go back, branch, shorten, move to another revision. Originals stay readable.",
    routes: ["clear", "rewind", "fork", "compact", "pin", "migrate"],
    calls: [{ route: "compact", body: { instructions: "Keep the file names." } }],
  },
  {
    title: "See what the model saw, and what it cost",
    says: "The request of every turn, message by message, and the usage.",
    routes: ["context", "usage", "list_usage"],
    calls: [{ route: "list_usage", query: "?group_by=model" }],
  },
  {
    title: "Work with files",
    says: "The workspace belongs to the session; uploads are kept for messages to name.",
    routes: [
      "workspace",
      "read_file",
      "write_file",
      "delete_file",
      "unpack",
      "upload",
      "uploads",
      "read_upload",
    ],
    calls: [{ route: "workspace" }],
  },
  {
    title: "Look into shared stores",
    says: "What the agents of a session store for each other, and remember about people.",
    routes: ["state", "tasks", "notes", "forget_subject"],
    calls: [{ route: "tasks" }],
  },
  {
    title: "Give access",
    says: "Keys for servers, short-lived tokens for browsers.",
    routes: ["mint_token", "create_key", "list_keys", "get_key", "edit_key", "revoke_key"],
    calls: [
      {
        route: "create_key",
        body: { name: "backend", tenant: "acme", scopes: ["sessions:read", "sessions:write"] },
      },
      { route: "mint_token", body: { origin: "https://app.example.com" } },
    ],
  },
  {
    title: "Know the deployment",
    says: "Its limits, its agents and models, and its decisions.",
    routes: [
      "capabilities",
      "agents",
      "agent",
      "models",
      "reset_cooldowns",
      "reset_cooldown",
      "explain_permission",
      "list_audit",
      "list_mcp_servers",
      "connect_mcp_server",
      "approve_mcp_server",
      "forget_mcp_login",
      "oauth_callback",
      "oauth_client",
      "health",
      "readiness",
      "openapi",
      "asyncapi",
      "llms",
    ],
    calls: [{ route: "agents" }],
  },
];
