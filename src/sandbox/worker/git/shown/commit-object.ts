import { decode } from "../line/answers.ts";
import type { WorkTree } from "../tracked-files.ts";

/** Commits, read from their objects. */

export interface Committer {
  readonly name: string;
  readonly mail: string;
  /** Seconds and zone: `1767225600 +0200`. */
  readonly time: string;
}

export interface ShownCommit {
  readonly hash: string;
  /** The lines before the message. */
  readonly header: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Committer;
  readonly committer: Committer;
  readonly message: string;
}

export function personIn(header: string, who: string): Committer {
  const line = new RegExp(`^(?:${who}) (.*?) ?<(.*)> (.*)$`, "m");
  const [, name = "", mail = "", time = ""] = line.exec(header) ?? [];
  return { name, mail, time };
}

export async function readCommit({ objectStore }: WorkTree, hash: string): Promise<ShownCommit> {
  const text = decode((await objectStore.read(hash)).content);
  const end = text.indexOf("\n\n");
  const header = end < 0 ? text : text.slice(0, end);
  return {
    hash,
    header,
    tree: /^tree (\S+)/m.exec(header)?.[1] ?? "",
    parents: [...header.matchAll(/^parent (\S+)/gm)].flatMap(([, parent]) => parent ?? []),
    author: personIn(header, "author"),
    committer: personIn(header, "committer"),
    message: end < 0 ? "" : text.slice(end + 2),
  };
}

/** Returns the first paragraph of a message, by lines, and what comes after it. */
export function splitMessage(message: string): { readonly title: readonly string[]; readonly body: string } {
  const [title = "", ...rest] = message.replace(/^\n+/, "").split(/\n(?=\s*\n)|\n$/);
  const body = rest.join("\n").replace(/^\n+/, "");
  return {
    title: title.split("\n").map((line) => line.trimEnd()),
    body: body === "" || body.endsWith("\n") ? body : `${body}\n`,
  };
}

export const titleOf = (message: string): string => splitMessage(message).title.join(" ");
export const bodyOf = (message: string): string => splitMessage(message).body;
