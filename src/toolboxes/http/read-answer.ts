import { readUpTo } from "../../tools/egress/body.ts";

/** Converts an HTTP answer to a text for a model. */

/** Most bytes of an answer that are read, after inflation. */
const mostBytes = 1_048_576;

const textTypes =
  /^(text\/.*|application\/(.*\+)?(json|xml|yaml|javascript|ecmascript|toml|sql|graphql|x-www-form-urlencoded|x-ndjson|x-yaml|jsonl)|image\/svg\+xml)$/;

const htmlTypes = new Set(["text/html", "application/xhtml+xml"]);

/** Returns whether a header is shown; cookies are credentials, for which a model has no use. */
const isShown = ([name]: readonly [string, string]): boolean => name !== "set-cookie";

/** Returns the type of an answer, without its parameters, and the charset that it names. */
const typeOf = (headers: Headers): { readonly type: string; readonly charset: string | undefined } => {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => /^\s*charset\s*=\s*["']?([^"'\s]+)/.exec(each)?.[1]);
  return { type: type.trim(), charset: charset.find((each) => each !== undefined) };
};

/** Returns the charset of a byte order mark at the beginning. */
const markOf = ([first, second]: Uint8Array): string | undefined => {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
};

/** Bytes in which browsers look for a page's own declaration of its charset. */
const declarationBytes = 1_024;

/** Returns the charset that a page itself declares, which counts if its header names none. */
const declaredCharset = (bytes: Uint8Array): string | undefined => {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, declarationBytes));
  const declared = /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w-]+)/i.exec(start)?.[1];
  // A declaration that could be read is not in UTF-16: by the standard it means UTF-8.
  return declared === undefined || /^utf-16/i.test(declared) ? undefined : declared;
};

const decoderFor = (charset: string): TextDecoder => {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
};

/** Decodes a text; half a character at the end of a cut text is dropped. */
const decodeText = (bytes: Uint8Array, charset: string | undefined, cut: boolean): string =>
  decoderFor(markOf(bytes) ?? charset ?? "utf-8").decode(bytes, { stream: cut });

/** Returns whether bytes without a type are text. */
const looksLikeText = (bytes: Uint8Array): boolean => !bytes.subarray(0, 8_192).includes(0);

const describeBytes = (type: string, { length }: Uint8Array, cut: boolean): string =>
  `[${type === "" ? "unknown type" : type}, ${cut ? `more than ${length}` : length} bytes]`;

/** Returns `{status, url, headers, body}`; a page also has `links`, and `cut` is true if the body is incomplete. */
export const readAnswer = async (
  response: Response,
  url: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const { status, headers } = response;
  const { bytes, cut } = await readUpTo(response.body, mostBytes);
  const { type, charset } = typeOf(headers);
  const answer = { status, url, headers: Object.fromEntries([...headers].filter(isShown)) };
  const marked = (isCut: boolean) => (isCut ? { ...answer, cut: true } : answer);
  if (!(type === "" ? looksLikeText(bytes) : textTypes.test(type)))
    return { ...marked(cut), body: describeBytes(type, bytes, cut) };
  const isPage = htmlTypes.has(type);
  const text = decodeText(bytes, charset ?? (isPage ? declaredCharset(bytes) : undefined), cut);
  if (!isPage) return { ...marked(cut), body: text };
  // The parser is loaded only when a page is read.
  const { readHtml } = await import("./html-text.ts");
  const page = readHtml(text, url);
  return { ...marked(cut || page.cut), body: page.text, links: page.links };
};
