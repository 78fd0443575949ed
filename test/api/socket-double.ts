/** A session's socket in plain Node: what the router sends is kept, what the test says is delivered. */
export interface SocketDouble {
  /** Parsed messages of the router. */
  readonly sent: Record<string, unknown>[];
  /** Delivers frames as one message. */
  say(...frames: object[]): void;
  /** Ends it from the session's side. */
  end(code: number): void;
  readonly closed: Promise<number>;
  readonly isClosed: () => boolean;
  /** Resolves when the router has sent `count` messages. */
  received(count: number): Promise<void>;
  readonly response: Response;
}

export function socketDouble(): SocketDouble {
  const sent: Record<string, unknown>[] = [];
  const target = new EventTarget();
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const { promise: closed, resolve: close } = Promise.withResolvers<number>();
  let ended = false;
  const webSocket = {
    accept: () => undefined,
    addEventListener: target.addEventListener.bind(target),
    send(text: string) {
      sent.push(JSON.parse(text));
      for (const { count, resolve } of waiting) if (sent.length >= count) resolve();
    },
    close(code: number) {
      ended = true;
      close(code);
    },
  };
  return {
    sent,
    closed,
    isClosed: () => ended,
    say(...frames) {
      const data = JSON.stringify(frames.length === 1 ? frames[0] : frames);
      target.dispatchEvent(new MessageEvent("message", { data }));
    },
    end(code) {
      target.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" }));
    },
    received(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (sent.length >= count) resolve();
      else waiting.push({ count, resolve });
      return promise;
    },
    response: { status: 101, webSocket, headers: new Headers() } as unknown as Response,
  };
}

/** An `event` frame. */
export const event = (seq: number, type: string, data: object = {}, run?: string) => ({
  type: "event",
  event: { v: 1, seq, id: `e${seq}`, type, data, ...(run === undefined ? {} : { run }) },
});
