import { readUpTo } from "../../tools/egress/body.ts";

/** This file turns an HTTP answer into what a model gets to read of it. */

/** The most bytes of an answer that are read, after inflation. */
const mostBytes = 1_048_576;

const textTypes =
  /^(text\/.*|application\/(.*\+)?(json|xml|yaml|javascript|ecmascript|toml|sql|graphql|x-www-form-urlencoded|x-ndjson|x-yaml|jsonl)|image\/svg\+xml)$/;

const htmlTypes = new Set(["text/html", "application/xhtml+xml"]);

/** Cookies are credentials, which a model has no use for. */
const isShown = ([name]: readonly [string, string]): boolean => name !== "set-cookie";

/** The type of an answer, without its parameters, and the charset that it names. */
const typeOf = (headers: Headers): { readonly type: string; readonly charset: string | undefined } => {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => /^\s*charset\s*=\s*["']?([^"'\s]+)/.exec(each)?.[1]);
  return { type: type.trim(), charset: charset.find((each) => each !== undefined) };
};

/** The charset that the first bytes tell: a byte order mark. */
const markOf = ([first, second]: Uint8Array): string | undefined => {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
};

/** Browsers look for a page's own word on its charset in so many bytes. */
const declarationBytes = 1_024;

/** The charset that a page itself declares, which counts if its header names none. */
const declaredCharset = (bytes: Uint8Array): string | undefined => {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, declarationBytes));
  const declared = /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w-]+)/i.exec(start)?.[1];
  // A declaration that could be read is in no such charset: the standard takes it for UTF-8.
  return declared === undefined || /^utf-16/i.test(declared) ? undefined : declared;
};

const decoderFor = (charset: string): TextDecoder => {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
};

/** Decodes a text; of one that was cut, half a character at the end is left out. */
const decodeText = (bytes: Uint8Array, charset: string | undefined, cut: boolean): string =>
  decoderFor(markOf(bytes) ?? charset ?? "utf-8").decode(bytes, { stream: cut });

/** Whether bytes without a type are text. */
const looksLikeText = (bytes: Uint8Array): boolean => !bytes.subarray(0, 8_192).includes(0);

const describeBytes = (type: string, { length }: Uint8Array, cut: boolean): string =>
  `[${type === "" ? "unknown type" : type}, ${cut ? `more than ${length}` : length} bytes]`;

/** Returns `{status, url, headers, body}`; a page also has `links`, and `cut` is true if there was more than this. */
export const readAnswer = async (
  response: Response,
  url: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const { status, headers } = response;
  const { bytes, cut } = await readUpTo(response.body, mostBytes);
  const { type, charset } = typeOf(headers);
  const told = { status, url, headers: Object.fromEntries([...headers].filter(isShown)) };
  const marked = (isCut: boolean) => (isCut ? { ...told, cut: true } : told);
  if (!(type === "" ? looksLikeText(bytes) : textTypes.test(type)))
    return { ...marked(cut), body: describeBytes(type, bytes, cut) };
  const isPage = htmlTypes.has(type);
  const text = decodeText(bytes, charset ?? (isPage ? declaredCharset(bytes) : undefined), cut);
  if (!isPage) return { ...marked(cut), body: text };
  // The parser is loaded with the first page.
  const { readHtml } = await import("./html-text.ts");
  const page = readHtml(text, url);
  return { ...marked(cut || page.cut), body: page.text, links: page.links };
};
