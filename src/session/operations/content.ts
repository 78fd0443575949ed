import * as z from "zod";
import type { Draft } from "../../agent/transaction/draft.ts";
import type { ContentPart } from "../../chat/message.ts";
import { cleanText } from "../../chat/text.ts";
import { wellFormedText } from "../command.ts";
import { refuseField } from "../problems.ts";
import { base64Of, dataUrlPattern, storeBlob, findUpload } from "./uploads.ts";

/** Defines what an input may hold. Bytes come as base64 or data URL and are stored apart from the message. */

const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

const documentTypes = ["application/pdf", "text/plain", "text/markdown", "text/csv", "text/html"] as const;

const sourceFields = {
  data: z.string().max(8_388_608).optional().describe("Base64, or a data URL."),
  url: z
    .url({ protocol: /^https$/, error: "must be an https URL" })
    .max(2_048)
    .optional(),
  file: z.string().max(64).optional().describe("The id of a file that is kept with the session."),
  name: wellFormedText(255).optional(),
};

const hasOneSource = ({
  data,
  url,
  file,
}: Readonly<Partial<Record<keyof typeof sourceFields, unknown>>>): boolean =>
  [data, url, file].filter((source) => source !== undefined).length === 1;

const sourceError = { error: "give exactly one of data, url and file" };

const partSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: wellFormedText(1_048_576) }),
  z
    .strictObject({ type: z.literal("image"), media_type: z.enum(imageTypes).optional(), ...sourceFields })
    .refine(hasOneSource, sourceError),
  z
    .strictObject({
      type: z.literal("document"),
      media_type: z.enum(documentTypes).optional(),
      ...sourceFields,
    })
    .refine(hasOneSource, sourceError),
]);

const contentShapes = "give a text, or a list of 1 to 64 parts of type text, image or document";

export const contentSchema = z.union(
  [
    wellFormedText(1_048_576).refine((text) => /\S/.test(text), "must not be blank"),
    z.array(partSchema).min(1).max(64),
  ],
  { error: contentShapes },
);

type GivenPart = z.output<typeof partSchema>;

type MediaPart = Exclude<GivenPart, { type: "text" }>;

/** Returns the media type of a part: its own, that of its data URL, or that of its file. */
const mediaTypeOf = (part: MediaPart, index: number, ofFile?: string): string => {
  const named = dataUrlPattern.exec(part.data ?? "")?.[1]?.toLowerCase() ?? part.media_type ?? ofFile;
  const known: readonly string[] = part.type === "image" ? imageTypes : documentTypes;
  return named !== undefined && known.includes(named)
    ? named
    : refuseField("unsupported_media_type", `/content/${index}/media_type`, `use one of ${known.join(", ")}`);
};

/** Returns a part whose bytes are those of a kept file, which is not stored again. */
const nameFile = (draft: Draft, part: MediaPart, index: number, file: string): ContentPart => {
  const upload = findUpload(draft, file);
  if (upload === null)
    return refuseField("not_found", `/content/${index}/file`, "no file of this id is kept");
  const media_type = mediaTypeOf(part, index, upload.media_type);
  return { type: part.type, media_type, name: part.name ?? upload.name, blob: upload.blob };
};

const storeMedia = (draft: Draft, part: MediaPart, index: number): ContentPart => {
  const { type, name, url, file } = part;
  if (file !== undefined) return nameFile(draft, part, index, file);
  const fields = { media_type: mediaTypeOf(part, index), ...(name === undefined ? {} : { name }) };
  if (url !== undefined) return { type, ...fields, url };
  const blob = storeBlob(draft, base64Of(part.data ?? "", `/content/${index}/data`));
  return { type, ...fields, blob };
};

/** Returns the content of an input as it is stored; its bytes become blobs of the same commit. */
export const storeContent = (
  draft: Draft,
  content: z.output<typeof contentSchema>,
): readonly ContentPart[] => {
  const parts: readonly GivenPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const stored = parts.map((part, index): ContentPart =>
    part.type === "text" ? { type: "text", text: cleanText(part.text) } : storeMedia(draft, part, index),
  );
  const blank = stored.every((part) => part.type === "text" && !/\S/.test(part.text));
  return blank ? refuseField("invalid_request", "/content", "must not be blank") : stored;
};
