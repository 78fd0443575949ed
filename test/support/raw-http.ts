import { connect } from "node:net";

/** HTTP as it stands on the wire, for what no proper client would send. */

export interface RawAnswer {
  /** 0: there was none. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends lines as the head of a request and reads until the other side is done. */
export const sendRaw = (
  { host, port }: { readonly host: string; readonly port: number },
  lines: readonly string[],
): Promise<RawAnswer> =>
  new Promise((done, fail) => {
    let text = "";
    const socket = connect(port, host, () => {
      socket.write([...lines, "Connection: close", "", ""].join("\r\n"));
    });
    socket.setEncoding("utf8");
    socket.on("data", (piece: string) => void (text += piece));
    socket.once("error", fail);
    socket.once("close", () => {
      const [head = "", ...rest] = text.split("\r\n\r\n");
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
      done({ status, head, body: rest.join("\r\n\r\n") });
    });
  });
