import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

/** A wire to a server that breaks when so many bytes have come down it, whatever they belong to. */
export interface Cutter {
  readonly url: string;
  readonly cuts: () => number;
  readonly close: () => void;
}

/** `next` says after how many more bytes the wire breaks; Infinity leaves it whole. */
export const startCutter = async (port: number, next: () => number): Promise<Cutter> => {
  const open = new Set<Socket>();
  let left = next();
  let cuts = 0;
  /** Everything that is open breaks at once, as when a cable is pulled. */
  const cut = (): void => {
    cuts += 1;
    left = next();
    for (const socket of open) socket.destroy();
  };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left > 0) {
        client.write(chunk);
        return;
      }
      // A part of the piece still arrives, so that frames and answers break in their middle.
      client.write(chunk.subarray(0, Math.max(0, chunk.length + left)), cut);
    });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
};
