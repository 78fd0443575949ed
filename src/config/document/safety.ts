import { CST, Lexer } from "yaml";
import type { ErrorCode, Path } from "./diagnostics.ts";

/** Refuses unsafe input before the YAML parser sees it. All checks are linear in the length of the text. */

export const maximumBytes = 262_144;

export const maximumDepth = 32;

export const maximumNodes = 10_000;

/** Finding at an offset of the text. */
export interface DocumentFinding {
  readonly code: ErrorCode;
  readonly offset: number;
  readonly message: string;
  /** Path of the value, if one could be read. */
  readonly path?: Path;
}

/** Decodes a file strictly: UTF-8, byte order mark dropped, CRLF and CR to LF. */
export const decodeText = (
  content: string | Uint8Array,
  maximum: number,
): { readonly text: string; readonly finding: DocumentFinding | null } => {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  if (bytes.length > maximum) {
    const message = `the file has more than ${maximum} bytes, and no more are allowed`;
    return { text: "", finding: { code: "file_too_large", offset: 0, message } };
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    const before = new TextDecoder().decode(bytes);
    const offset = Math.max(0, before.indexOf("\uFFFD"));
    const message = "the file is not UTF-8 here; save it as UTF-8";
    return { text: before, finding: { code: "not_utf8", offset, message } };
  }
  return { text: text.replaceAll(/\r\n?/g, "\n"), finding: null };
};

const flowSteps: Readonly<Record<string, number>> = {
  "flow-seq-start": 1,
  "flow-map-start": 1,
  "flow-seq-end": -1,
  "flow-map-end": -1,
};

const blockIndicators: ReadonlySet<string> = new Set(["seq-item-ind", "explicit-key-ind", "map-value-ind"]);

/** Counts how deep collections nest, token by token, without building anything. */
class DepthCounter {
  #flow = 0;
  #columns: number[] = [];
  #item: number | null = null;
  #fresh = true;
  #column = 0;
  /** Whether a bracket was closed that had not been opened. */
  unopened = false;

  /** Counts one token and returns whether nesting is still within bounds. */
  take(type: string, source: string): boolean {
    this.#open(type);
    this.#advance(source);
    return this.#flow + this.#columns.length <= maximumDepth;
  }

  #open(type: string): void {
    this.#flow += flowSteps[type] ?? 0;
    this.unopened = this.#flow < 0;
    if (this.#flow > 0) return;
    if (blockIndicators.has(type)) {
      this.#enter(type === "map-value-ind" ? (this.#item ?? this.#column) : this.#column);
      this.#fresh = true;
    } else if (this.#fresh && type !== "space" && type !== "newline") {
      this.#item = this.#column;
      this.#fresh = false;
    }
  }

  #enter(column: number): void {
    while ((this.#columns.at(-1) ?? -1) > column) this.#columns.pop();
    if ((this.#columns.at(-1) ?? -1) < column) this.#columns.push(column);
    this.#item = null;
  }

  #advance(source: string): void {
    const line = source.lastIndexOf("\n");
    if (line === -1) {
      this.#column += source.length;
      return;
    }
    this.#column = source.length - line - 1;
    this.#fresh = true;
    this.#item = null;
  }
}

const nodeTokens: ReadonlySet<string> = new Set([
  "scalar",
  "single-quoted-scalar",
  "double-quoted-scalar",
  "block-scalar-header",
  "alias",
  "anchor",
  "tag",
  "flow-seq-start",
  "flow-map-start",
]);

/** Message for a file whose tokens alone prove that it has too many values. */
const tooManyValues = `the file has more than ${maximumNodes} values, aliases counted as used`;

/** Returns the first reason not to parse `text`, or null; fills `lexemes` with the lexer's output. */
export const findUnsafe = (text: string, lexemes: string[]): DocumentFinding | null => {
  const zero = text.indexOf("\0");
  if (zero !== -1) return { code: "yaml_syntax", offset: zero, message: "a NUL character is not allowed" };
  const depth = new DepthCounter();
  let nodes = 0;
  for (const { type, source, offset } of readTokens(text, lexemes)) {
    if (type === "directive-line") {
      return { code: "yaml_directive", offset, message: "directives are not allowed; remove this line" };
    }
    if (!depth.take(type, source)) {
      const message = `collections are nested deeper than ${maximumDepth} levels`;
      return { code: "yaml_depth", offset, message };
    }
    if (nodeTokens.has(type)) nodes += 1;
    if (nodes > 2 * maximumNodes) return { code: "yaml_nodes", offset, message: tooManyValues };
    if (depth.unopened) {
      return { code: "yaml_syntax", offset, message: `this ${source} has no opening bracket` };
    }
  }
  return null;
};

interface LexerToken {
  readonly type: string;
  readonly source: string;
  readonly offset: number;
}

/** Reads the lexer's tokens with their offsets, without control tokens, which have no text. */
function* readTokens(text: string, lexemes: string[]): Generator<LexerToken> {
  let offset = 0;
  let scalar = false;
  for (const source of new Lexer().lex(text)) {
    lexemes.push(source);
    const type: string = scalar ? "scalar" : (CST.tokenType(source) ?? "scalar");
    const announced: boolean = type === "scalar" && !scalar;
    scalar = announced;
    if (announced || type === "doc-mode" || type === "flow-error-end") continue;
    yield { type, source, offset };
    offset += source.length;
  }
}
