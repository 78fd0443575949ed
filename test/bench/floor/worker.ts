import { DurableObject } from "cloudflare:workers";

/**
 * The floor: what a person writes who needs one agent, one model and one tool, and nothing else. It does the same work on
 * the same routes as the product, without a runtime: no events, no cursor, no permissions, no retries, no limits.
 */

interface Env {
  readonly FLOOR: DurableObjectNamespace<FloorObject>;
  readonly BENCH_PROVIDER: string;
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  text?: string;
  json?: string;
}
type Message = { readonly role: string; readonly content: unknown };

const recoverMs = 5_000;
const tools = [
  {
    name: "echo",
    description: "Gives back 256 bytes.",
    input_schema: { type: "object", properties: { i: { type: "integer" } }, required: ["i"] },
  },
];
const echo = (i: number): string => `${i}:`.padEnd(256, "x");

export class FloorObject extends DurableObject<Env> {
  #messages: Message[] | null = null;
  #running = false;

  #open(): Message[] {
    if (this.#messages !== null) return this.#messages;
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, json TEXT NOT NULL)");
    const rows = sql.exec<{ json: string }>("SELECT json FROM messages ORDER BY id").toArray();
    this.#messages = rows.map(({ json }) => JSON.parse(json) as Message);
    return this.#messages;
  }

  #append(...added: readonly Message[]): void {
    this.#open().push(...added);
    const values = added.map(() => "(?)").join(",");
    this.ctx.storage.sql.exec(
      `INSERT INTO messages (json) VALUES ${values}`,
      ...added.map((message) => JSON.stringify(message)),
    );
  }

  #broadcast(frame: object): void {
    const text = JSON.stringify(frame);
    for (const socket of this.ctx.getWebSockets()) socket.send(text);
  }

  start(text: string | null): void {
    this.#open();
    if (text === null) return;
    this.#append({ role: "user", content: text });
    void this.ctx.storage.setAlarm(Date.now() + recoverMs);
    this.ctx.waitUntil(this.#run());
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (await this.#turn());
    } finally {
      this.#running = false;
    }
    void this.ctx.storage.deleteAlarm();
    this.#broadcast({ type: "event", event: { type: "run_end" } });
  }

  async #turn(): Promise<boolean> {
    const messages = this.#open();
    const response = await fetch(`${this.env.BENCH_PROVIDER}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "bench" },
      body: JSON.stringify({ model: "bench-model", max_tokens: 8_192, stream: true, tools, messages }),
    });
    const blocks = await this.#read(response.body as ReadableStream<Uint8Array>);
    const content = blocks.map(({ type, id, name, text, json }) =>
      type === "tool_use" ? { type, id, name, input: JSON.parse(json ?? "{}") as unknown } : { type, text },
    );
    const reply = { role: "assistant", content };
    const results = content.flatMap((block) =>
      "input" in block
        ? [{ type: "tool_result", tool_use_id: block.id, content: echo((block.input as { i: number }).i) }]
        : [],
    );
    if (results.length === 0) {
      this.#append(reply);
      return false;
    }
    this.#append(reply, { role: "user", content: results });
    this.#broadcast({ type: "event", event: { type: "turn_end" } });
    return true;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<Block[]> {
    const blocks: Block[] = [];
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true });
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const data = rest.slice(rest.indexOf("data: ") + 6, end);
        rest = rest.slice(end + 2);
        this.#take(JSON.parse(data) as Record<string, unknown>, blocks);
      }
    }
    return blocks;
  }

  #take(event: Record<string, unknown>, blocks: Block[]): void {
    const type = event["type"] as string;
    const index = event["index"] as number;
    if (type === "content_block_start") {
      const { type: kind, id, name } = event["content_block"] as Block;
      blocks[index] = {
        type: kind,
        ...(id === undefined ? {} : { id }),
        ...(name === undefined ? {} : { name }),
        text: "",
        json: "",
      };
    } else if (type === "content_block_delta") {
      const block = blocks[index] as Block;
      const { text, partial_json } = event["delta"] as { text?: string; partial_json?: string };
      block.json += partial_json ?? "";
      if (text === undefined) return;
      block.text += text;
      this.#broadcast({ type: "delta", kind: "text_delta", data: text });
    }
  }

  override async alarm(): Promise<void> {
    const last = this.#open().at(-1);
    if (last === undefined || last.role === "assistant") return;
    void this.ctx.storage.setAlarm(Date.now() + recoverMs);
    this.ctx.waitUntil(this.#run());
  }

  override async fetch(): Promise<Response> {
    this.#open();
    const pair = new WebSocketPair();
    this.ctx.acceptWebSocket(pair[1]);
    return new Response(null, { status: 101, webSocket: pair[0] });
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    const frame = JSON.parse(data as string) as { type: string; id?: string; input?: { content: string } };
    if (frame.type === "hello") {
      socket.send('{"type":"live"}');
      if (!this.#running && this.#open().at(-1)?.role === "assistant")
        socket.send(JSON.stringify({ type: "event", event: { type: "run_end" } }));
    }
    if (frame.type !== "send") return;
    this.start(frame.input?.content ?? "");
    socket.send(JSON.stringify({ type: "result", id: frame.id }));
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    const [, , , id = crypto.randomUUID(), tail] = pathname.split("/");
    const object = env.FLOOR.get(env.FLOOR.idFromName(id));
    if (tail === "ws") return object.fetch(request);
    const { input } = await request.json<{ input?: string }>();
    await object.start(input ?? null);
    return Response.json({ id, head_seq: 0 }, { status: 201 });
  },
};
