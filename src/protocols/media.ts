import type { DocumentPart, ImagePart } from "../chat/message.ts";
import type { Capabilities } from "../model/schema.ts";

/** Images as both wires take them, and the greatest base64 text of one (MO-8). */
const imageTypes = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const maxImage = 5 * 1024 * 1024;

/** A stored blob's base64, or an address. */
type Source = { readonly base64: string } | { readonly url: string };

export type Media =
  | {
      readonly kind: "image" | "document";
      readonly type: string;
      readonly name: string;
      readonly source: Source;
    }
  /** What the model reads in place of the media (MO-4). */
  | { readonly kind: "omitted"; readonly text: string };

const omitted = (what: string, why: string): Media => ({
  kind: "omitted",
  text: `[${what} omitted: ${why}]`,
});

const sourceOf = (part: ImagePart | DocumentPart, blob: (id: string) => string): Source | null => {
  if (part.blob !== undefined) return { base64: blob(part.blob) };
  return part.url?.startsWith("https://") === true ? { url: part.url } : null;
};

/** A media part as the model can take it; whatever it cannot take becomes a sentence, never nothing (MO-4). */
export const mediaOf = (
  part: ImagePart | DocumentPart,
  capabilities: Capabilities,
  blob: (id: string) => string,
): Media => {
  const what = part.type;
  if (!capabilities[what === "image" ? "images" : "documents"])
    return omitted(what, `this model takes no ${what}s`);
  const known = what === "image" ? imageTypes.has(part.media_type) : isDocument(part.media_type);
  if (!known) return omitted(what, `this model takes no ${part.media_type}`);
  const source = sourceOf(part, blob);
  if (source === null) return omitted(what, "its address is not https");
  if (what === "image" && "base64" in source && source.base64.length > maxImage)
    return omitted(what, "it is larger than 5 MiB");
  return { kind: what, type: part.media_type, name: part.name ?? what, source };
};

const isDocument = (type: string): boolean => type === "application/pdf" || type.startsWith("text/");

/** The text of a text document's base64. */
export const textOf = (base64: string): string => {
  const binary = atob(base64);
  return new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
};
