/** Server-sent event: `event` is empty if the server named none. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
}

/** Parser of one event stream: bytes in any cut, LF, CRLF or CR, a byte order mark, split UTF-8. */
export interface SseParser {
  /** Returns the frames that this chunk completes. */
  readonly feed: (chunk: Uint8Array) => readonly SseFrame[];
  /** Returns the last frame if the stream ended without its blank line and it holds data. */
  readonly end: () => readonly SseFrame[];
}

export const createSseParser = (): SseParser => {
  const decoder = new TextDecoder();
  /** Text since the last line end, in the pieces that arrived. */
  let open: string[] = [];
  let afterCarriageReturn = false;
  let event = "";
  let data: string | null = null;

  const line = (text: string, frames: SseFrame[]): void => {
    if (text === "") {
      // Some gateways keep a connection alive with events without data.
      if (data !== null && data !== "") frames.push({ event, data });
      event = "";
      data = null;
    } else if (text.startsWith("data:")) {
      const value = text.slice(text.charCodeAt(5) === 32 ? 6 : 5);
      data = data === null ? value : `${data}\n${value}`;
    } else if (text.startsWith("event:")) {
      event = text.slice(6).trim();
    }
  };

  const withLineFeeds = (text: string): string => {
    const rest = afterCarriageReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") afterCarriageReturn = text.endsWith("\r");
    return rest.includes("\r") ? rest.replace(/\r\n?/g, "\n") : rest;
  };

  const take = (decoded: string): readonly SseFrame[] => {
    const text = withLineFeeds(decoded);
    const last = text.lastIndexOf("\n");
    if (last < 0) {
      if (text !== "") open.push(text);
      return [];
    }
    const whole = open.length === 0 ? text : open.join("") + text;
    const end = whole.length - (text.length - last);
    const frames: SseFrame[] = [];
    let start = 0;
    while (start <= end) {
      const next = whole.indexOf("\n", start);
      line(whole.slice(start, next), frames);
      start = next + 1;
    }
    open = start < whole.length ? [whole.slice(start)] : [];
    return frames;
  };

  return {
    feed: (chunk) => take(decoder.decode(chunk, { stream: true })),
    end: () => take(`${decoder.decode()}\n\n`),
  };
};
