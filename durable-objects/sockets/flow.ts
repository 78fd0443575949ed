/** What went to one socket in this isolate and was not acknowledged yet; `bufferedAmount` tells nothing on hibernating sockets. */
export interface Flow {
  readonly recordSent: (characters: number, frames: number) => void;
  /** The reader has received so many frames of its connection. */
  readonly acknowledge: (frames: number) => void;
  /** Characters. */
  readonly unacknowledged: () => number;
  /** Gives the reader time for its next acknowledgement, if it is not running; answers whether it began now. */
  readonly wait: (ms: number, over: () => void) => boolean;
  /** The socket is gone. */
  readonly forget: () => void;
}

export const createFlow = (): Flow => {
  let frames = 0;
  let characters = 0;
  /** Frames that the reader counts and this isolate did not send: from before a hibernation, and automatic pongs. */
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
      messages.push({ upTo: frames, characters: more });
    },
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
