/** A client of wrangler's inspector, which shows the isolate of the entry Worker. */
export interface Inspector {
  readonly ask: (method: string, params?: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly close: () => void;
}

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export const openInspector = async (port: number): Promise<Inspector> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { Origin: "http://localhost" } });
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("error", () => opened.reject(new Error("the inspector refused its client")));
  const waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  socket.addEventListener("message", ({ data }) => {
    const { id = 0, result = {}, error } = JSON.parse(String(data)) as Reply;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  socket.addEventListener("close", () => {
    for (const { reject } of waiting.values()) reject(new Error("the inspector has gone"));
  });
  await opened.promise;
  let last = 0;
  return {
    ask: (method, params = {}) => {
      const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
      waiting.set((last += 1), answer);
      socket.send(JSON.stringify({ id: last, method, params }));
      return answer.promise;
    },
    close: () => socket.close(),
  };
};
