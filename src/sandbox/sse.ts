/** Server-sent event. `id` is 0 if the event has none. */
export interface ServerEvent {
  readonly event: string;
  readonly id: number;
  readonly data: string;
}

function parseFrame(frame: string): ServerEvent | null {
  let event = "message";
  let id = 0;
  const data: string[] = [];
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "event") event = value;
    if (field === "id") id = Number(value) || 0;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, id, data: data.join("\n") };
}

/** Parser of a stream of bytes into events. A last event without its empty line was cut off and is dropped. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";

  push(bytes: Uint8Array): ServerEvent[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true }).replaceAll("\r\n", "\n");
    const frames = this.#rest.split("\n\n");
    this.#rest = frames.pop() ?? "";
    return frames.flatMap((frame) => parseFrame(frame) ?? []);
  }
}
