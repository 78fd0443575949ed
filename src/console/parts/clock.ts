/** The server's clock, by which the times that it tells are measured: that of this machine may be wrong. */

let offset = 0;

export const serverNow = (): number => Date.now() + offset;

/** Takes note of an answer's date, which is cut to the second, and of when its request was sent. */
export const noteDate = (date: string | null, sent: number): void => {
  const at = Date.parse(date ?? "");
  if (at > 0) offset = Math.min(Math.max(offset, at - Date.now()), at + 1_000 - sent);
};
