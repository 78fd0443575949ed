import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { createParser, masked } from "../bench/client.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A client of wrangler's inspector, which shows the isolate of the entry Worker. */
export interface Inspector {
  readonly ask: (method: string, params?: object) => Promise<Fields>;
  readonly close: () => void;
}

interface Reply {
  readonly id?: number;
  readonly result?: Fields;
  readonly error?: { readonly message: string };
}

/** Wrangler refuses clients that name themselves, so this one says nothing more than it must. */
export const openInspector = async (port: number): Promise<Inspector> => {
  const socket = connect({ host: "127.0.0.1", port });
  const key = randomBytes(16).toString("base64");
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  const waiting = new Map<number, PromiseWithResolvers<Fields>>();
  const parse = createParser((text) => {
    const { id = 0, result = {}, error } = JSON.parse(text) as Reply;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  socket.on("close", () => {
    for (const { reject } of waiting.values()) reject(new Error("the inspector has gone"));
  });
  await new Promise<void>((resolve) =>
    socket.once("data", (chunk: Buffer) => {
      parse(chunk.subarray(chunk.indexOf("\r\n\r\n") + 4));
      socket.on("data", parse);
      resolve();
    }),
  );
  let last = 0;
  return {
    ask: (method, params = {}) => {
      const answer = Promise.withResolvers<Fields>();
      last += 1;
      waiting.set(last, answer);
      socket.write(masked(JSON.stringify({ id: last, method, params })));
      return answer.promise;
    },
    close: () => void socket.destroy(),
  };
};
