import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { framesOfKind, startFakeProvider } from "./fake-provider.ts";
import type { FakeProvider, FakeReply, FakeRequest } from "./fake-provider.ts";
import { cueOf, say } from "./plays.ts";

/**
 * The outside world of the crash tests: a model server and a server that tools call. Both log all that reaches them, and
 * hold whoever they are told to at one moment, so that many sessions can stand still at moments of their own.
 */

/** Where a session is held: at a model call (`at`: share of the answer's bytes already sent; 0 = not even headers), or in a tool. */
export type Hold =
  | { readonly turn: number; readonly at: number; readonly times?: number }
  | { readonly tool: string; readonly times?: number };

/** A model call or tool call as it arrived. */
export interface Arrival {
  readonly id: string;
  readonly at: number;
  readonly turn?: number;
  readonly tool?: string;
  /** Idempotency key of a tool call. */
  readonly key?: string;
}

export interface Stage {
  readonly provider: FakeProvider;
  readonly arrivals: readonly Arrival[];
  /** Sessions that were given their last answer whole. */
  readonly finished: ReadonlySet<string>;
  /** Holds a session's next arrivals there, `times` times (1). */
  readonly hold: (id: string, hold: Hold) => void;
  /** How often a session has been held. */
  readonly held: (id: string) => number;
  readonly close: () => Promise<void>;
}

/** The turn of each play that gives the final answer. */
const lastTurns: Readonly<Record<string, number>> = { tale: 4, question: 2, later: 1 };

/** What the model says to `play tale ID`: tools of every class at once, then the unsafe one, then a look at what was done. */
const tale = (id: string, turn: number, url: string): FakeReply => {
  const address = { url: `${url}/${id}` };
  switch (turn) {
    case 1:
      return say(
        { text: "Four things at once, told at some length so that there is a middle to be cut in." },
        { call: "look", args: address },
        { call: "put", args: address },
        { call: "fs_write", args: { path: "a.md", content: `written by ${id}\n` } },
        { call: "exec_shell", args: { script: `echo ${id} >> log.txt` } },
      );
    case 2:
      return say({ text: "Now the one that must not happen twice." }, { call: "fire", args: address });
    case 3:
      return say(
        { call: "exec_shell", args: { script: "cat log.txt || true" } },
        { call: "fs_read", args: { path: "a.md" } },
      );
    default:
      return say({ text: `That was the tale of ${id}, from its beginning to its end.` });
  }
};

const question = say({ call: "ask_user", args: { question: "Shall I go on?" } });

/** Refused once for four seconds. */
const tooMany: FakeReply = {
  status: 429,
  headers: { "retry-after": "4" },
  body: { error: { type: "rate_limit_error", message: "Too many requests." } },
};

const replyTo = (request: FakeRequest, url: string, isFirst: boolean): FakeReply => {
  const { play, words, turn } = cueOf(request);
  const id = words[0] ?? "";
  if (play === "later") return isFirst ? tooMany : say({ text: `At last, ${id}.` });
  if (play === "question") return turn === 1 ? question : say({ text: `Thank you, ${id}.` });
  return tale(id, turn, url);
};

const lengthOf = ({ speech }: FakeReply, { kind }: FakeRequest): number => {
  if (speech === undefined) return 0;
  return Buffer.byteLength(framesOfKind(kind, speech, "model").join(""));
};

export const createStage = async (): Promise<Stage> => {
  const arrivals: Arrival[] = [];
  const finished = new Set<string>();
  const holds = new Map<string, { readonly hold: Hold; left: number }[]>();
  const heldCount = new Map<string, number>();
  const reached = (id: string): void => void heldCount.set(id, (heldCount.get(id) ?? 0) + 1);
  /** Uses up one hold of a session that fits. */
  const take = (id: string, fits: (hold: Hold) => boolean): Hold | null => {
    const entry = holds.get(id)?.find(({ hold, left }) => left > 0 && fits(hold));
    if (entry === undefined) return null;
    entry.left -= 1;
    return entry.hold;
  };
  const never = (): Promise<never> => new Promise(() => undefined);

  const server = createServer((request, response) => {
    const [, id = "", tool = ""] = (request.url ?? "").split("/");
    let key = "";
    request.on("data", (chunk: Buffer) => (key += chunk.toString()));
    request.on("end", () => {
      arrivals.push({ id, tool, key, at: Date.now() });
      if (take(id, (hold) => "tool" in hold && hold.tool === tool) !== null) return reached(id);
      response.end(`${tool} done`);
    });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const provider = await startFakeProvider(async (request) => {
    const { play, words, turn } = cueOf(request);
    const id = words[0] ?? "";
    const isFirst = arrivals.every((arrival) => arrival.id !== id);
    arrivals.push({ id, turn, at: request.at });
    const reply = replyTo(request, url, isFirst);
    const hold = take(id, (each) => "turn" in each && each.turn === turn);
    if (hold !== null && "turn" in hold) {
      if (hold.at > 0) {
        const stallAt =
          hold.at >= 1 ? Number.MAX_SAFE_INTEGER : Math.ceil(lengthOf(reply, request) * hold.at);
        return { ...reply, stallAt, onStall: () => reached(id) };
      }
      reached(id);
      return never();
    }
    const isLast = turn >= (lastTurns[play] ?? 1);
    if (isLast && reply.speech !== undefined) finished.add(id);
    return reply;
  });
  return {
    provider,
    arrivals,
    finished,
    hold: (id, hold) => void holds.set(id, [...(holds.get(id) ?? []), { hold, left: hold.times ?? 1 }]),
    held: (id) => heldCount.get(id) ?? 0,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await provider.close();
    },
  };
};
