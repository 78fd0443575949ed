import { createHash } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Ensures that only one server uses a folder of sessions: the databases would be locked for a second one. */

/** Returns the socket on which the user of a folder listens: it closes with its process, however that ends. */
const socketOf = (folder: string): string => {
  const name = `limpet-${createHash("sha256").update(folder).digest("hex").slice(0, 32)}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
};

/** Asks the server behind a socket for its address; returns null if there is none. */
const askUser = async (path: string): Promise<string | null> => {
  let said = "";
  try {
    for await (const text of connect(path).setEncoding("utf8")) said += String(text);
    return said;
  } catch {
    return null;
  }
};

const isTaken = (fault: unknown): boolean =>
  fault instanceof Error && "code" in fault && fault.code === "EADDRINUSE";

/** Listens unless another process does; if no socket can be created, no process is kept off. */
const listen = async (server: Server, path: string): Promise<boolean> => {
  try {
    server.listen(path);
    await once(server, "listening");
    return true;
  } catch (fault) {
    return !isTaken(fault);
  }
};

/**
 * Claims a folder, by its full path, for a server at `url` until this process ends. Returns the address of the
 * server that already has it, or null.
 */
export const claimFolder = async (folder: string, url: string): Promise<string | null> => {
  const path = socketOf(folder);
  const server = createServer((socket) => socket.on("error", () => undefined).end(url)).unref();
  for (;;) {
    if (await listen(server, path)) return null;
    const user = await askUser(path);
    if (user !== null) return user;
    // A server that was killed has left its socket behind.
    rmSync(path, { force: true });
  }
};
