import { longestImage } from "../chat/image-size.ts";
import type { DocumentPart, ImagePart } from "../chat/message.ts";
import { isStoredText } from "../chat/message.ts";
import { firstCharacters } from "../chat/text.ts";
import type { Capabilities } from "../model/schema.ts";
import { fromBase64, hasOnlyBase64Letters } from "../sandbox/base64.ts";
import { isVisible } from "./body.ts";

/** Image types that both protocols accept. */
const imageTypes = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** Longest name in characters; the protocols accept a few more. */
const longestName = 255;

/** Source of media: base64 or text of a stored blob, or an address. */
type MediaSource = { readonly base64: string } | { readonly text: string } | { readonly url: string };

export type WireMedia =
  | {
      readonly kind: "image" | "document";
      readonly type: string;
      readonly name: string;
      readonly source: MediaSource;
    }
  /** Text that the model reads instead of the media. */
  | { readonly kind: "text"; readonly text: string };

const isDocument = (type: string): boolean => type === "application/pdf" || type.startsWith("text/");

/** Reason why media cannot be shown. */
interface MediaLack {
  readonly why: string;
}

const textSourceOf = (base64: string): MediaSource | MediaLack => {
  if (!hasOnlyBase64Letters(base64)) return { why: "it is damaged" };
  const text = new TextDecoder().decode(fromBase64(base64));
  return isVisible(text) ? { text } : { why: "it is empty" };
};

/** Returns the source of a stored blob. Its bytes may be gone or cut off, and no server accepts an incomplete blob. */
const blobSourceOf = (
  { type, media_type: mediaType }: ImagePart | DocumentPart,
  base64: string,
): MediaSource | MediaLack => {
  if (base64 === "") return { why: "it is no longer stored" };
  if (type === "document" && mediaType !== "application/pdf") return textSourceOf(base64);
  if (type === "image" && base64.length > longestImage) return { why: "it is larger than 5 MiB" };
  return base64.length % 4 === 0 ? { base64 } : { why: "it is damaged" };
};

const urlSourceOf = (url: string | undefined): MediaSource | MediaLack =>
  url?.startsWith("https://") === true && URL.canParse(url) ? { url } : { why: "its address is not https" };

/** Returns a media part in a form that the model accepts, or a sentence. */
export const wireMediaOf = (
  part: ImagePart | DocumentPart,
  capabilities: Capabilities,
  blob: (id: string) => string,
): WireMedia => {
  const what = part.type;
  const omitted = (why: string): WireMedia => ({ kind: "text", text: `[${what} omitted: ${why}]` });
  const isTaken = capabilities[what === "image" ? "images" : "documents"];
  if (!isTaken && !isStoredText(part)) return omitted(`this model takes no ${what}s`);
  const known = what === "image" ? imageTypes.has(part.media_type) : isDocument(part.media_type);
  if (!known) return omitted(`this model takes no ${part.media_type}`);
  const source = part.blob === undefined ? urlSourceOf(part.url) : blobSourceOf(part, blob(part.blob));
  if ("why" in source) return omitted(source.why);
  const given = firstCharacters(part.name ?? "", longestName);
  const name = isVisible(given) ? given : what;
  if ("text" in source && !isTaken) return { kind: "text", text: `${name}:\n${source.text}` };
  return { kind: what, type: part.media_type, name, source };
};
