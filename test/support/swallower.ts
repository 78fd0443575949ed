import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";

/** A wire to a server that can lose its network: connections stay, and nothing more goes through them. */
export interface Swallower {
  readonly url: string;
  readonly swallow: () => void;
  /** What a client has sent since, and nobody received. */
  readonly swallowed: () => string;
  readonly close: () => void;
}

export const startSwallower = async (port: number): Promise<Swallower> => {
  let isGone = false;
  let lost = "";
  const ends = new AbortController();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("data", (chunk: Buffer) => {
      if (isGone) lost += chunk.toString();
      else upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => void (isGone || client.write(chunk)));
    for (const socket of [client, upstream]) {
      socket.on("error", () => undefined);
      ends.signal.addEventListener("abort", () => socket.destroy());
    }
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    swallow: () => {
      isGone = true;
    },
    swallowed: () => lost,
    close: () => {
      server.close();
      ends.abort();
    },
  };
};
