/** Which files may go with a message; all others have their place in the workspace. */

const mediaTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
  "text/plain",
  "text/markdown",
  "text/csv",
  "text/html",
]);

/** A file of a message has at most so many bytes. */
const mostBytes = 8 * 2 ** 20;

interface NamedFile {
  readonly name: string;
  readonly size: number;
  /** Its media type; a browser that knows none gives an empty text. */
  readonly type: string;
}

/** Tells whether the server takes a file as a part of a message. */
export const isAttachable = ({ type }: Pick<NamedFile, "type">): boolean =>
  mediaTypes.has((type.split(";")[0] ?? "").trim().toLowerCase());

export const isTooLarge = ({ size }: Pick<NamedFile, "size">): boolean => size > mostBytes;

/** Tells whether the first bytes of a file are text in UTF-8; a character may be cut at their end. */
export const startsAsText = (bytes: Uint8Array): boolean => {
  try {
    return !new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })
      .decode(bytes, { stream: true })
      .includes("\0");
  } catch {
    return false;
  }
};

const listNames = (names: readonly string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

/** Says why files were not attached, and where they can go instead; empty if there are none. */
export const explainRefused = (
  refused: readonly Pick<NamedFile, "name" | "size">[],
  hasSession = true,
): string => {
  if (refused.length === 0) return "";
  const names = refused.map((file) => `${file.name}${isTooLarge(file) ? " (larger than 8 MiB)" : ""}`);
  const them = refused.length === 1 ? "it" : "them";
  const when = hasSession ? "instead" : "once the session has begun";
  return `${listNames(names)} cannot be sent with a message. Put ${them} into Files ${when}.`;
};
