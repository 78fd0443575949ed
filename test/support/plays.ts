import type { FakeReply, FakeRequest, Script } from "./fake-provider.ts";
import type { Speech } from "./fake-provider-reply.ts";

/** What a model says in a test, by the input that it answers: `play NAME …` begins the play NAME. */

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

const textsOf = (content: unknown): readonly string[] =>
  (Array.isArray(content) ? content : [{ type: "text", text: content }])
    .map(fieldsOf)
    .filter((part) => part["type"] === "text" && typeof part["text"] === "string")
    .map((part) => String(part["text"]));

/** The place in a play at which a request stands. */
export interface Cue {
  readonly play: string;
  /** The rest of the input's words. */
  readonly words: readonly string[];
  /** 1 for the first model call after the input. */
  readonly turn: number;
}

/** The newest input that begins a play, and how many answers the model gave since. */
export const cueOf = (request: FakeRequest): Cue => {
  const messages = Array.isArray(request.body["messages"]) ? request.body["messages"].map(fieldsOf) : [];
  const inputs = messages.map(({ role, content }) =>
    role === "user" ? textsOf(content).findLast((text) => text.startsWith("play ")) : undefined,
  );
  const at = inputs.findLastIndex((text) => text !== undefined);
  const [, play = "", ...words] = (inputs[at] ?? "").split(" ");
  const turn = 1 + messages.slice(at + 1).filter(({ role }) => role === "assistant").length;
  return { play, words, turn };
};

export const say = (...pieces: Speech["pieces"]): FakeReply => ({ speech: { pieces } });

/** Plays by name: the replies of the turns, the last one again for whatever comes after. */
export const playing =
  (plays: Readonly<Record<string, (cue: Cue) => readonly FakeReply[]>>): Script =>
  (request) => {
    const cue = cueOf(request);
    const replies = plays[cue.play]?.(cue) ?? [];
    return replies[cue.turn - 1] ?? replies.at(-1) ?? { status: 400, body: { error: `no play ${cue.play}` } };
  };
