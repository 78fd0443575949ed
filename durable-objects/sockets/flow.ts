/** Counts what one socket was sent and has not acknowledged; hibernating sockets give no useful `bufferedAmount`. */
export interface Flow {
  readonly recordSent: (characters: number, frames: number) => void;
  /** Counts the oldest messages, of this many characters, as received by a reader that never acknowledges. */
  readonly credit: (characters: number) => void;
  /** Returns the numbers of characters and frames that were sent. */
  readonly sent: () => { readonly characters: number; readonly frames: number };
  /** Records that the reader has received this many frames of its connection. */
  readonly acknowledge: (frames: number) => void;
  /** Returns the number of unacknowledged characters. */
  readonly unacknowledged: () => number;
  /** Starts the time for the reader's next acknowledgement, unless it is running; returns whether it started now. */
  readonly wait: (ms: number, over: () => void) => boolean;
  /** Forgets a closed socket. */
  readonly forget: () => void;
}

export const createFlow = (): Flow => {
  let frames = 0;
  let characters = 0;
  let total = 0;
  /** Frames that this isolate did not send: those before a hibernation, and automatic pongs. */
  let others = 0;
  let waiting: ReturnType<typeof setTimeout> | null = null;
  const messages: { readonly upTo: number; readonly characters: number }[] = [];
  const stop = (): void => {
    if (waiting !== null) clearTimeout(waiting);
    waiting = null;
  };
  return {
    recordSent: (more, count) => {
      frames += count;
      characters += more;
      total += more;
      messages.push({ upTo: frames, characters: more });
    },
    credit: (allowance) => {
      for (let left = allowance; left > 0 && messages.length > 0;) {
        const size = messages.shift()?.characters ?? 0;
        characters -= size;
        left -= size;
      }
      stop();
    },
    sent: () => ({ characters: total, frames }),
    acknowledge: (received) => {
      others = Math.max(others, received - frames);
      const open = messages.findIndex(({ upTo }) => upTo > received - others);
      const done = messages.splice(0, open < 0 ? messages.length : open);
      for (const message of done) characters -= message.characters;
      stop();
    },
    unacknowledged: () => characters,
    wait: (ms, over) => {
      if (waiting !== null) return false;
      waiting = setTimeout(over, ms);
      return true;
    },
    forget: stop,
  };
};
