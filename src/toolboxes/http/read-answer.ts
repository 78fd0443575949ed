import { readUpTo } from "../../tools/egress/body.ts";

/** This file turns an HTTP answer into what a model gets to read of it. */

/** The most bytes of an answer that are read, after inflation. */
const mostBytes = 1_048_576;

const textTypes =
  /^(text\/.*|application\/(.*\+)?(json|xml|yaml|javascript|ecmascript|toml|sql|graphql|x-www-form-urlencoded|x-ndjson|x-yaml|jsonl)|image\/svg\+xml)$/;

const htmlTypes = new Set(["text/html", "application/xhtml+xml"]);

/** Cookies are credentials, which a model has no use for. */
const isShown = ([name]: readonly [string, string]): boolean => name !== "set-cookie";

const decoderFor = (charset: string): TextDecoder => {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
};

/** The type of an answer, without its parameters, and its charset. */
const typeOf = (headers: Headers): { readonly type: string; readonly charset: string } => {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(each)?.[1]);
  return { type: type.trim(), charset: charset.find((each) => each !== undefined) ?? "utf-8" };
};

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
  const text = decoderFor(charset).decode(bytes);
  if (!htmlTypes.has(type)) return { ...marked(cut), body: text };
  // The parser is loaded with the first page.
  const { readHtml } = await import("./html-text.ts");
  const page = readHtml(text, url);
  return { ...marked(cut || page.cut), body: page.text, links: page.links };
};
