import type { Json } from "../../chat/message.ts";

/** This file is written by `npm run build` from the operation table; do not edit it. */

/** Input of a person: a text, or parts. */
export type InputContent = string | readonly ({ readonly type: "text"; readonly text: string; } | {
  readonly type: "image";
  readonly media_type?: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Base64, or a data URL. */
  readonly data?: string;
  readonly url?: string;
  /** The id of a file that is kept with the session. */
  readonly file?: string;
  readonly name?: string;
} | {
  readonly type: "document";
  readonly media_type?: "application/pdf" | "text/plain" | "text/markdown" | "text/csv" | "text/html";
  /** Base64, or a data URL. */
  readonly data?: string;
  readonly url?: string;
  /** The id of a file that is kept with the session. */
  readonly file?: string;
  readonly name?: string;
})[];

/** The parameters of each operation: those of its path, query and body together. */
export interface OperationParams {
  /** Creates a session, and starts its first run if an input comes with it; one that exists is shown. */
  readonly create: {
    /** Your own name for the session: the same name finds the same session. */
    readonly ref?: string;
    /** Omitted: the team's entry agent. */
    readonly agent?: string;
    /** Omitted: the beginning of the first message. */
    readonly title?: string;
    /** Up to 16 texts; subject names the person whose memory agents use, and stays. */
    readonly metadata?: Readonly<Record<string, string>>;
    /** The first message: a text, or the body of POST S/messages. If `ref` finds a session, the message is not sent: that session is answered with 200 as it is. */
    readonly input?: string | {
      /** Id of your choice: an input sent again with it is stored once. */
      readonly id?: string;
      /** A text, or parts of type text, image or document; the latter have one of data, url and file. */
      readonly content: InputContent;
      /** Name of the sender, as the agent sees it. */
      readonly sender?: string;
      /** Gives the agent a minimal prompt. */
      readonly light?: boolean;
      /** A JSON Schema that the answer must fit. */
      readonly output_schema?: Json;
      /** Summaries of earlier attempts: texts, or a JSON array of them as text. The summary of a run that just failed here is added, also to []. */
      readonly prior_episode_summaries?: string | readonly string[];
    };
    /** Whether a person can answer what agents ask. */
    readonly interactive?: boolean;
    /** Files that are put into the workspace before anything reads it. */
    readonly files?: readonly {
      /** From the root of the workspace. */
      readonly path: string;
      /** Text. */
      readonly content?: string;
      /** Base64, or a data URL. */
      readonly data?: string;
    }[];
    /** Ceiling: no other tool may be used, client_tools included. */
    readonly tools?: readonly string[];
    /** Tools that you carry out: their calls are asks. */
    readonly client_tools?: readonly ({ readonly name: string; readonly description: string; readonly params: Json; readonly safety?: "read" | "idempotent" | "reattach" | "unsafe"; })[];
    readonly model?: string;
    /** Limits that tighten those of the team. */
    readonly budget?: {
      /** Input, cache and output tokens. */
      readonly max_tokens?: number;
      /** Price of all model calls in USD, of models whose price is known. */
      readonly max_cost_usd?: number;
      /** Model time in milliseconds, or like "30m". */
      readonly max_duration?: number | string;
      /** Dispatched calls. */
      readonly max_tool_calls?: number;
      /** Share at which a warning is given. */
      readonly warn_at?: number;
      /** End the run, or ask for a raise. */
      readonly on_exceeded?: "stop" | "ask";
    };
    /** A JSON Schema that every final answer must fit. */
    readonly output_schema?: Json;
    /** Days without use after which the session is deleted; can only shorten retention.session_days. */
    readonly retention_days?: number;
  };
  /** Shows the session. */
  readonly get: { readonly session: string; };
  /** Changes the fields that the caller names; If-Match holds the ETag of the session that was read. */
  readonly patch: {
    readonly session: string;
    readonly title?: string | null;
    readonly metadata?: Readonly<Record<string, string>>;
    readonly model?: string | null;
    readonly scope?: "main" | "tree";
    readonly budget?: {
      readonly max_tokens?: number | null;
      readonly max_cost_usd?: number | null;
      readonly max_duration?: number | string | null;
      readonly max_tool_calls?: number | null;
      /** Share at which a warning is given. */
      readonly warn_at?: number;
      /** End the run, or ask for a raise. */
      readonly on_exceeded?: "stop" | "ask";
    } | null;
    readonly retention_days?: number | null;
  };
  /** Deletes the session with everything that it holds. */
  readonly delete: { readonly session: string; };
  /** Hands the session a message, which starts, steers or ends a run as its mode says. */
  readonly send: {
    readonly session: string;
    /** Id of your choice: an input sent again with it is stored once. */
    readonly id?: string;
    /** A text, or parts of type text, image or document; the latter have one of data, url and file. */
    readonly content: InputContent;
    /** What happens during a run: refuse, wait for its end, join it, end it, or undo it. Omitted: the team's sessions.on_busy, which is reject unless team.yaml says otherwise. */
    readonly on_busy?: "reject" | "queue" | "steer" | "interrupt" | "rollback";
    /** Thread of a called agent at work; it takes steer only. */
    readonly thread?: string;
    /** Name of the sender, as the agent sees it. */
    readonly sender?: string;
    /** Gives the agent a minimal prompt. */
    readonly light?: boolean;
    /** A JSON Schema that the answer must fit. */
    readonly output_schema?: Json;
    /** Summaries of earlier attempts: texts, or a JSON array of them as text. The summary of a run that just failed here is added, also to []. */
    readonly prior_episode_summaries?: string | readonly string[];
    /** Seconds to wait over HTTP for the run to end, 300 at most; its end is then the answer. A WebSocket sees the end in its events. */
    readonly wait?: number;
  };
  /** Lists the messages of a thread: the newest before a place, in their order. */
  readonly messages: {
    readonly session: string;
    /** The thread of the messages. */
    readonly thread?: string;
    /** Shows messages before this pos. */
    readonly before?: number;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** Also shows messages that the model no longer sees. */
    readonly retired?: string | boolean;
  };
  /** Pins a message, which keeps it whole in what the model sees, or unpins it. */
  readonly pin: {
    readonly session: string;
    readonly message: string;
    readonly thread?: string;
    /** A pinned message is never shortened or retired, with its whole block. */
    readonly pinned: boolean;
  };
  /** Lists the inputs, the newest first. */
  readonly inputs: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Shows an input. */
  readonly input: { readonly session: string; readonly input: string; };
  /** Edits or moves an input that waits, or lets it join the run; If-Match names the version that was read. */
  readonly edit_input: {
    readonly session: string;
    readonly input: string;
    readonly content?: InputContent;
    /** Position among the waiting inputs, from 0. */
    readonly place?: number;
    /** Lets it join the run instead of waiting for its end. */
    readonly on_busy?: "steer";
  };
  /** Takes back an input that waits; one that has not come yet is refused when it comes. */
  readonly withdraw: { readonly session: string; readonly input: string; };
  /** Lists the runs, the newest first. */
  readonly runs: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Shows a run. */
  readonly run: { readonly session: string; readonly run: string; };
  /** Shows what the model saw in a turn, and why. */
  readonly context: {
    readonly session: string;
    readonly run: string;
    readonly turn: number;
    /** Which of the turn's model calls; omitted: the newest that is no repair. */
    readonly call?: number;
    /** As fields, as the provider got it, or as a text for people. */
    readonly format?: "json" | "provider" | "text";
  };
  /** Lists the delegation tree: the threads in the order in which they began, `main` first. */
  readonly threads: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Ends the run of a thread and everything below it. */
  readonly cancel: {
    readonly session: string;
    readonly mode?: "now" | "after_turn";
    /** Refuses if another run is active. */
    readonly run?: string;
    readonly thread?: string;
    /** What happens to messages that wait. */
    readonly queued?: "return" | "keep";
  };
  /** Lists the asks in the order in which they were opened. */
  readonly asks: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
    /** How far they are. */
    readonly status?: "open" | "resolved" | "expired" | "cancelled";
    /** Shows the open asks that this run waits for, itself or through agents that it called. */
    readonly run?: string;
  };
  /** Answers an ask; the first valid answer wins. */
  readonly answer: {
    readonly session: string;
    readonly ask: string;
    readonly decision: "approve" | "deny" | "edit" | "answer" | "result" | "cancel";
    readonly text?: string;
    readonly selections?: readonly string[];
    readonly input?: Json;
    readonly output?: Json;
    readonly is_error?: boolean;
    /** New limit of a budget, in the ask's unit. */
    readonly limit?: number;
    readonly message?: string;
    /** How far an approval holds: for this call, or for what the ask's approval.remember names. */
    readonly remember?: "once" | "session" | "agent";
  };
  /** Lists the events after a cursor, as they were stored, or streams them. */
  readonly events: {
    readonly session: string;
    /** The last event that was seen. */
    readonly after?: number;
    /** Shows only events before this one; a page begins after `after` all the same. */
    readonly before?: number;
    /** Types of events, with commas. */
    readonly types?: string;
    /** The thread in which they happened. */
    readonly thread?: string;
    /** Most events of a page; next_after says where it ends. */
    readonly limit?: number;
  };
  /** Shows everything that a client needs to start, at one point of the log. */
  readonly snapshot: { readonly session: string; };
  /** Retires the chat and begins a new usage period; the originals stay readable. */
  readonly clear: {
    readonly session: string;
    /** Accepted as by `compact`, but nothing is summarised. */
    readonly instructions?: string;
  };
  /** Takes the chat back to the end of a turn; what followed is retired and stays readable. */
  readonly rewind: {
    readonly session: string;
    /** The last event or message that stays; inside a turn it rounds down to before the turn. */
    readonly at: number | string;
    /** keep leaves the workspace as it is; restore needs a snapshot by the sandbox. */
    readonly files?: "keep" | "restore";
  };
  /** Begins another session with the chat as it was at the end of a turn and an empty workspace; the source stays as it is. */
  readonly fork: {
    readonly session: string;
    /** The last event or message that stays; inside a turn it rounds down to before the turn. */
    readonly at: number | string;
    /** A fork begins with an empty workspace: keep leaves the files to the source; restore needs a snapshot by the sandbox. */
    readonly files?: "keep" | "restore";
    /** Omitted: the title of the source. */
    readonly title?: string;
  };
  /** Moves the session to another revision of the team's definition, now or before its next run. */
  readonly migrate: {
    readonly session: string;
    /** The revision; omitted: the deployed one. */
    readonly to?: string;
    /** New names of agents, by those that the session has. */
    readonly agents?: Readonly<Record<string, string>>;
    readonly when?: "now" | "next_run";
    /** Reports what would change, and stores nothing. */
    readonly dry_run?: boolean;
  };
  /** Summarises the chat now, or before the next turn of a run; an empty chat stays as it is. */
  readonly compact: {
    readonly session: string;
    readonly thread?: string;
    /** What the summary must keep. */
    readonly instructions?: string;
  };
  /** Shows what the session used: since it was cleared, in all, and by agent and model. */
  readonly usage: { readonly session: string; };
  /** Lists the entries of the session's state store. */
  readonly state: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the tasks of the session's board. */
  readonly tasks: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the notes that the session's agents see. */
  readonly notes: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the files and folders at the root of the session's workspace. */
  readonly workspace: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Deletes a file or folder of the workspace. */
  readonly delete_file: {
    readonly session: string;
    /** From the root of the workspace. */
    readonly path: string;
    readonly recursive?: boolean;
  };
  /** Lists the files that are kept with the session, in the order in which they came. */
  readonly uploads: {
    readonly session: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Shows limits, kinds and surfaces of the deployment. */
  readonly capabilities: Readonly<Record<string, never>>;
  /** Lists the agents of the team. */
  readonly agents: {
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Shows an agent. */
  readonly agent: { readonly agent: string; };
  /** Lists the models, and which of them are available. */
  readonly models: {
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Ends the cooldowns of all providers. */
  readonly reset_cooldowns: Readonly<Record<string, never>>;
  /** Ends the cooldowns of a provider. */
  readonly reset_cooldown: { readonly provider: string; };
  /** Lists the sessions of the tenant. */
  readonly list_sessions: {
    /** One status, or several. */
    readonly status?: "idle" | "running" | "waiting" | readonly ("idle" | "running" | "waiting")[];
    /** The agent of the session. */
    readonly agent?: string;
    /** Pairs that a session's metadata must hold: `metadata[name]=value`. */
    readonly metadata?: Readonly<Record<string, string>>;
    /** A text in the title, the ref or the id; case is ignored. */
    readonly q?: string;
    /** Only sessions created later: milliseconds or RFC 3339. */
    readonly created_after?: number | string;
    /** Only sessions last changed before: milliseconds or RFC 3339. */
    readonly updated_before?: number | string;
    /** The sort key; `-` begins with the newest. */
    readonly order?: "-created_at" | "created_at" | "-updated_at" | "updated_at";
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Creates a token with which a browser opens only this session. */
  readonly mint_token: {
    readonly session: string;
    readonly scopes?: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[];
    /** Lifetime of the token in seconds. */
    readonly ttl?: number;
    readonly origin?: string;
  };
  /** Sums up the tenant's usage. */
  readonly list_usage: {
    /** What the sums are grouped by: `session`, `agent`, `model`, `day` or `metadata[name]`. */
    readonly group_by?: string;
    /** The first day, UTC. */
    readonly from?: string;
    /** The last day, UTC. */
    readonly to?: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the open asks of the tenant. */
  readonly list_asks: {
    /** Only open asks are listed. */
    readonly status?: "open";
    /** The kind of the asks. */
    readonly kind?: "question" | "approval" | "client_tool" | "authorization" | "budget";
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the decisions about calls, and who made them. */
  readonly list_audit: {
    /** The id of the session of the call. */
    readonly session?: string;
    /** The agent that made the call. */
    readonly agent?: string;
    /** The called tool. */
    readonly tool?: string;
    /** What was decided. */
    readonly verdict?: "allow" | "approved" | "ask" | "deny";
    /** An action outside sessions, like revoke_key. */
    readonly action?: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Lists the remembered approvals. */
  readonly list_grants: {
    /** The id of the session in which the grant was given. */
    readonly session?: string;
    /** The agent that may use the grant. */
    readonly agent?: string;
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Revokes a remembered approval. */
  readonly revoke_grant: { readonly grant: string; };
  /** Explains how a call would be decided. */
  readonly explain_permission: {
    readonly agent: string;
    readonly tool: string;
    readonly input?: Json;
    /** Judges as in this session, with its grants and its revision. */
    readonly session?: string;
  };
  /** Deletes the memories about a person. */
  readonly forget_subject: { readonly subject: string; };
  /** Lists the states of the MCP servers. */
  readonly list_mcp_servers: {
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Begins the login at an MCP server. */
  readonly connect_mcp_server: { readonly name: string; };
  /** Approves the tools of an MCP server. */
  readonly approve_mcp_server: {
    readonly name: string;
    /** The hashes to approve by tool; if absent, every change found. */
    readonly tools?: Readonly<Record<string, string>>;
  };
  /** Deletes the login at an MCP server. */
  readonly forget_mcp_login: { readonly name: string; };
  /** Creates an API key, which is shown once. */
  readonly create_key: { readonly name?: string; readonly tenant?: string; readonly jurisdiction?: "eu" | "us" | null; readonly scopes: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[]; readonly expires_at?: number | null; };
  /** Lists the API keys. */
  readonly list_keys: {
    /** How many rows a page has at most. */
    readonly limit?: number;
    /** The `next_cursor` or `prev_cursor` of another page. */
    readonly cursor?: string;
  };
  /** Shows an API key without its secret. */
  readonly get_key: { readonly key: string; };
  /** Changes name, scopes or expiry of an API key. */
  readonly edit_key: { readonly key: string; readonly name?: string; readonly scopes?: readonly ("sessions:read" | "sessions:write" | "sessions:manage" | "asks:answer" | "approvals:decide" | "context:read" | "usage:read" | "tokens:mint" | "debug:read" | "admin")[]; readonly expires_at?: number | null; };
  /** Revokes an API key. */
  readonly revoke_key: { readonly key: string; };
}
