import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The bench's model: a process of its own that answers at once, in the dialect of anthropic-messages. It obeys the last
 * text that holds an order: `bench:loop N K` asks for K tool calls a turn until N turns are done, `bench:stream N` says N
 * words, one a delta, `bench:pace N MS` says the time N times, one delta each MS, `bench:hold` waits before it answers;
 * anything else is answered with a few words. `GET /_calls` lists when requests arrived, `GET /_messages` gives
 * the conversation in the newest one.
 */

const calls: {
  readonly at: number;
  readonly bytes: number;
  readonly results: number;
  readonly order: string;
}[] = [];

/** The newest request. */
let newest: Buffer = Buffer.from("{}");

const order = /bench:(loop|stream|pace|hold) (\d+)(?: (\d+))?/;

const read = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const countAfter = (body: Buffer, needle: string, from: number): number => {
  let count = 0;
  for (let at = body.indexOf(needle, from); at >= 0; at = body.indexOf(needle, at + needle.length))
    count += 1;
  return count;
};

const frame = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** About what a model would count, so that nobody finds the figure odd. */
const tokensOf = (bytes: number): number => Math.ceil(bytes / 4);

const opening = (): string =>
  frame("message_start", {
    message: {
      id: `msg_${calls.length}`,
      type: "message",
      role: "assistant",
      model: "bench-model",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: tokensOf(calls.at(-1)?.bytes ?? 0),
        output_tokens: 1,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      },
    },
  });

const closing = (reason: string): string =>
  frame("message_delta", {
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 20 },
  }) + frame("message_stop", {});

const toolBlock = (index: number, id: string, args: string): string =>
  frame("content_block_start", { index, content_block: { type: "tool_use", id, name: "echo", input: {} } }) +
  frame("content_block_delta", { index, delta: { type: "input_json_delta", partial_json: args } }) +
  frame("content_block_stop", { index });

const textStart = frame("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
const textDelta = (text: string): string =>
  frame("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
const textStop = frame("content_block_stop", { index: 0 });

/** Deltas in one HTTP chunk: what a fast model's pieces become on their way. The floor pays for each chunk, so this favours it. */
const perChunk = 20;

const say = (response: ServerResponse, words: readonly string[]): void => {
  response.write(opening() + textStart);
  for (let at = 0; at < words.length; at += perChunk)
    response.write(
      words
        .slice(at, at + perChunk)
        .map(textDelta)
        .join(""),
    );
  response.end(textStop + closing("end_turn"));
};

/** The machine's monotonic clock in microseconds, which every process on it shares. */
const stamp = (): string => `@${process.hrtime.bigint() / 1_000n};`;

/** Deltas that carry the time of their writing, the first with the reply's first bytes. */
const pace = (response: ServerResponse, count: number, gapMs: number): void => {
  const startedAt = performance.now();
  response.write(opening() + textStart + textDelta(stamp()));
  let written = 1;
  const writeNext = (): void => {
    if (written >= count) {
      response.end(textStop + closing("end_turn"));
      return;
    }
    written += 1;
    response.write(textDelta(stamp()));
    setTimeout(writeNext, Math.max(0, startedAt + written * gapMs - performance.now()));
  };
  setTimeout(writeNext, gapMs);
};

const answer = (body: Buffer, response: ServerResponse): void => {
  const at = body.lastIndexOf("bench:");
  const [text = "", verb = "", first = "0", second = "1"] =
    at < 0 ? [] : (order.exec(body.toString("latin1", at, at + 60)) ?? []);
  const results = at < 0 ? 0 : countAfter(body, '"type":"tool_result"', at);
  newest = body;
  calls.push({ at: performance.timeOrigin + performance.now(), bytes: body.length, results, order: text });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const turn = calls.length;
  const each = Number(second);
  if (verb === "loop" && results < Number(first) * each) {
    const blocks = Array.from({ length: each }, (_, index) =>
      toolBlock(index, `toolu_${turn}_${index}`, `{"i":${results + index}}`),
    );
    response.end(opening() + blocks.join("") + closing("tool_use"));
  } else if (verb === "stream")
    say(
      response,
      Array.from({ length: Number(first) }, () => "word of text "),
    );
  else if (verb === "pace") pace(response, Number(first), each);
  else if (verb === "hold") setTimeout(() => say(response, ["Held."]), Number(first));
  else say(response, ["A few", " words."]);
};

const server = createServer((request, response) => {
  if (request.url === "/_calls") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(calls));
    return;
  }
  if (request.url === "/_messages") {
    const { messages = null } = JSON.parse(newest.toString("utf8")) as { readonly messages?: unknown };
    response.end(JSON.stringify(messages));
    return;
  }
  if (request.url === "/_clear") {
    calls.length = 0;
    response.end();
    return;
  }
  read(request).then(
    (body) => answer(body, response),
    () => response.destroy(),
  );
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
