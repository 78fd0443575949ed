import * as z from "zod";
import type { Draft } from "../../agent/transaction/draft.ts";
import { headAfter } from "../../agent/transaction/draft.ts";
import { readEntry, writeEntry } from "../../agent/transaction/entries.ts";
import type { ImageCheck } from "../../chat/image-size.ts";
import { checkImage, imageAdvice } from "../../chat/image-size.ts";
import type { ContentPart } from "../../chat/message.ts";
import { attachmentsOf } from "../../chat/message.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import { fromBase64, hasOnlyBase64Letters, toBase64 } from "../../sandbox/base64.ts";
import type { CommandAnswer, ReadContext, WriteContext } from "../define-operation.ts";
import {
  createdAnswer,
  okAnswer,
  requireStorage,
  wellFormedText,
  defineRead,
  defineWrite,
} from "../define-operation.ts";
import { refuse, refuseField } from "../problems.ts";
import { createRow, pageAnswer, pageSchema } from "./lists.ts";
import { cleanText } from "../../chat/text.ts";

/** Stores bytes that come as base64 or data URL. */

/** Matches the beginning of a data URL: its media type and parameters may be absent (RFC 2397). */
const dataUrlPattern = /^data:([a-z0-9.+/-]*)((?:;[^,]{0,1000})?),/i;

interface DataUrl {
  /** Empty if the URL names none. */
  readonly mediaType: string;
  /** Whether the rest is base64; otherwise it is text. */
  readonly isBase64: boolean;
  readonly rest: string;
}

/** Reads the parts of a data URL; null if the text is none. */
const readDataUrl = (data: string): DataUrl | null => {
  const [start, mediaType, parameters] = dataUrlPattern.exec(data) ?? [];
  if (start === undefined || mediaType === undefined || parameters === undefined) return null;
  const isBase64 = parameters.toLowerCase().endsWith(";base64");
  return { mediaType: mediaType.toLowerCase(), isBase64, rest: data.slice(start.length) };
};

/** Replaces the escapes of a URL, such as %20, by what they stand for. */
const unescapeUrl = (text: string, pointer: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    const message = "not a data URL: write % as %25, and other bytes than those of UTF-8 as base64";
    return refuseField("invalid_request", pointer, message, { rule: "data_url" });
  }
};

/** Returns whether a text without line breaks is padded base64; a pattern for all of a long one may overflow the engine's stack. */
const isBase64 = (text: string): boolean => {
  const padding = text.indexOf("=");
  const isPadded = padding === -1 || /^={1,2}$/.test(text.slice(Math.max(padding, text.length - 3)));
  return text !== "" && text.length % 4 === 0 && isPadded && hasOnlyBase64Letters(text);
};

/** Returns the base64 of what is given as base64 or as a data URL; `pointer` names the field. */
export const base64Of = (data: string, pointer: string): string => {
  const url = readDataUrl(data);
  const given = url === null ? data : unescapeUrl(url.rest, pointer);
  const isText = url?.isBase64 === false;
  const bytes = isText ? toBase64(new TextEncoder().encode(given)) : given.replace(/\s+/g, "");
  if (isBase64(bytes)) return bytes;
  if (bytes.includes("[secret:"))
    return refuseField("invalid_request", pointer, "it holds a secret of this deployment; send it without", {
      rule: "secret",
    });
  return refuseField("invalid_request", pointer, "not base64", { rule: "base64" });
};

/** Stores a text or base64 apart from the state, in the same commit, and returns its name. */
export const storeBlob = (draft: Draft, text: string): string => {
  const id = `m${draft.state.nextBlob}`;
  draft.state.nextBlob += 1;
  draft.blobs.push({ id, text });
  return id;
};

/** Defines the files that are kept with a session, for inputs to name. Their bytes are blobs, the rest is a row. */

const mostUploads = 100;

/** Most bytes of a file. */
export const longestUpload = 8 * 1024 * 1024;

const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

const storedSchema = z.object({
  id: z.string(),
  name: z.string(),
  media_type: z.string(),
  size: z.int(),
  sha256: z.string(),
  created_at: z.int(),
  blob: z.string(),
  /** What the bytes are as an image. */
  image: z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), type: z.enum(imageTypes) }),
    z.object({ ok: z.literal(false), problem: z.string() }),
  ]),
});

type StoredUpload = z.output<typeof storedSchema>;

type UploadView = Omit<StoredUpload, "blob" | "image">;

const viewOf = ({ id, name, media_type, size, sha256, created_at }: UploadView): UploadView => ({
  id,
  name,
  media_type,
  size,
  sha256,
  created_at,
});

/** Returns a kept file; null if there is none with this id. */
const findUpload = (draft: Draft, id: string): StoredUpload | null => {
  const row = readEntry(draft, "files", id);
  return row === null ? null : storedSchema.parse(row.value);
};

export const uploadDataSchema = z.string().max(Math.ceil(longestUpload / 3) * 4);

const uploadSchema = z.strictObject({
  name: z
    .string("a raw body needs its name in the query, as ?name=notes.txt")
    .pipe(wellFormedText(255).min(1)),
  media_type: wellFormedText(255).describe("Without parameters."),
  data: uploadDataSchema.describe("Base64."),
  size: z.int().min(0).max(longestUpload),
  sha256: z.string().describe("SHA-256 of the bytes, as the router computed it."),
});

/** Refuses a file for which the session has no room. */
export const requireUploadSpace = (context: WriteContext): void => {
  requireStorage(context);
  if (context.draft.context.entries.heads("files").length >= mostUploads)
    refuse("conflict", `a session keeps at most ${mostUploads} files; use another session`);
};

const keepUpload = (
  context: WriteContext,
  { data, ...fields }: z.output<typeof uploadSchema>,
): CommandAnswer => {
  const { draft } = context;
  requireUploadSpace(context);
  const id = `file_${draft.state.nextBlob}`;
  const bytes = data && base64Of(data, "/data");
  const blob = storeBlob(draft, bytes);
  const upload = { id, ...fields, created_at: draft.context.now, blob, image: checkImage(bytes) };
  writeEntry(draft, "files", id, upload);
  draft.state.updatedAt = draft.context.now;
  return createdAnswer({ ...viewOf(upload), seq: headAfter(draft) });
};

export const uploadOperation = defineWrite({
  name: "upload",
  summary: "Keeps a file with the session, and puts it into the workspace too if a path comes with it.",
  scopes: ["sessions:write"],
  method: "POST",
  path: "/v1/sessions/:session/files",
  params: uploadSchema,
  run: keepUpload,
});

const uploadsOf = ({ archive }: ReadContext): readonly StoredUpload[] =>
  archive.entries("files").map(({ json }) => storedSchema.parse(JSON.parse(json)));

/** Returns the number in an upload's id; uploads are numbered in the order in which they came. */
const uploadNumber = ({ id }: StoredUpload): number => Number(id.slice("file_".length));

export const uploadsOperation = defineRead({
  name: "uploads",
  summary: "Lists the files that are kept with the session, in the order in which they came.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/files",
  params: pageSchema,
  run: (context, query) => {
    const live = uploadsOf(context).map((upload) =>
      createRow(uploadNumber(upload), upload.id, () => viewOf(upload)),
    );
    return pageAnswer(context, { of: "files", live }, query);
  },
});

/** Returns the attachment that a message names by its blob, in the form of a file; undefined if there is none. */
const findAttachment = (
  { archive }: ReadContext,
  file: string,
): (UploadView & Pick<StoredUpload, "blob">) | undefined => {
  const message = /^m\d+$/.test(file) ? archive.attachment(file) : null;
  const part = attachmentsOf(message?.parts ?? []).find(({ blob }) => blob === file);
  if (message === null || part === undefined) return undefined;
  const bytes = fromBase64(archive.media(file));
  const { name = file, media_type } = part;
  return {
    id: file,
    name,
    media_type,
    size: bytes.length,
    sha256: sha256Hex(bytes),
    created_at: message.at,
    blob: file,
  };
};

export const readUploadOperation = defineRead({
  name: "read_upload",
  summary: "Shows a kept file or an attachment of a message, or with format=bytes reads it.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/files/:file",
  params: z.strictObject({
    file: z.string().describe("The id of the file, or the blob of a message's part."),
    format: z
      .enum(["json", "bytes"])
      .default("json")
      .describe("What is shown: the file's record, or its bytes."),
  }),
  run: (context, { file, format }): CommandAnswer => {
    const upload =
      uploadsOf(context).find(({ id, blob }) => id === file || blob === file) ??
      findAttachment(context, file);
    if (upload === undefined) return refuse("not_found", "This session keeps no such file.");
    const bytes = format === "bytes" ? { data: context.archive.media(upload.blob) } : {};
    return okAnswer({ ...viewOf(upload), ...bytes });
  },
});

/** Defines what an input may hold. Bytes come as base64 or data URL and are stored apart from the message. */

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

/** Most parts of an input. */
export const mostParts = 64;

const contentShapes = `give a text, or a list of 1 to ${mostParts} parts of type text, image or document`;

export const contentSchema = z.union(
  [
    wellFormedText(1_048_576).refine((text) => /\S/.test(text), "must not be blank"),
    z.array(partSchema).min(1).max(mostParts),
  ],
  { error: contentShapes },
);

type GivenPart = z.output<typeof partSchema>;

type MediaPart = Exclude<GivenPart, { type: "text" }>;

/** Returns the media type of a part: that of its data URL, its own, or that of its file. */
const mediaTypeOf = (part: MediaPart, index: number, ofFile?: string): string => {
  const url = readDataUrl(part.data ?? "");
  const ofUrl = url?.mediaType || part.media_type || "text/plain";
  const named = url === null ? (part.media_type ?? ofFile) : ofUrl;
  const known: readonly string[] = part.type === "image" ? imageTypes : documentTypes;
  return named !== undefined && known.includes(named)
    ? named
    : refuseField("unsupported_media_type", `/content/${index}/media_type`, `use one of ${known.join(", ")}`);
};

/** Returns the media type of an image by its bytes: a name may lie, and a provider refuses what is not as it says. */
const imageTypeOf = (check: ImageCheck, pointer: string): string =>
  check.ok
    ? check.type
    : refuseField("unsupported_media_type", pointer, `${check.problem} ${imageAdvice}`, {
        rule: "unsupported",
      });

/** Returns a part whose bytes are those of a kept file, which is not stored again. */
const nameFile = (draft: Draft, part: MediaPart, index: number, file: string): ContentPart => {
  const upload = findUpload(draft, file);
  if (upload === null)
    return refuseField("not_found", `/content/${index}/file`, "no file of this id is kept");
  const media_type =
    part.type === "image"
      ? imageTypeOf(upload.image, `/content/${index}/file`)
      : mediaTypeOf(part, index, upload.media_type);
  return { type: part.type, media_type, name: part.name ?? upload.name, blob: upload.blob };
};

const storeMedia = (draft: Draft, part: MediaPart, index: number): ContentPart => {
  const { type, name, url, file } = part;
  if (file !== undefined) return nameFile(draft, part, index, file);
  const named = name === undefined ? {} : { name };
  if (url !== undefined) return { type, media_type: mediaTypeOf(part, index), ...named, url };
  const pointer = `/content/${index}/data`;
  const bytes = base64Of(part.data ?? "", pointer);
  const media_type = type === "image" ? imageTypeOf(checkImage(bytes), pointer) : mediaTypeOf(part, index);
  return { type, media_type, ...named, blob: storeBlob(draft, bytes) };
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
