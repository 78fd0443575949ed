/** Matches globs without regular expressions, in time of at most the product of both lengths. */

/** Unit of a pattern: a literal character, `?`, `*` (a run within a segment), `**` (any run) or a character set. */
type GlobUnit =
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "any" | "run" | "deep" }
  | {
      readonly kind: "set";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

export interface GlobOptions {
  /** Whether `/` separates segments; if false, `*` and `?` match it, too. */
  readonly segments?: boolean;
}

function characterSet(characters: readonly string[], start: number): { unit: GlobUnit; next: number } | null {
  const negated = characters[start] === "!" || characters[start] === "^";
  const first = negated ? start + 1 : start;
  const end = characters.indexOf("]", first + 1);
  if (end < 0) return null;
  const ranges: (readonly [string, string])[] = [];
  for (let index = first; index < end; index++) {
    const low = characters[index] ?? "";
    const isRange = characters[index + 1] === "-" && index + 2 < end;
    ranges.push([low, isRange ? (characters[index + 2] ?? low) : low]);
    if (isRange) index += 2;
  }
  return { unit: { kind: "set", negated, ranges }, next: end + 1 };
}

/** Reads the unit at an index, and returns the index of the next one. */
function unitAt(characters: readonly string[], index: number): { unit: GlobUnit; next: number } {
  const character = characters[index] ?? "";
  const after = characters[index + 1];
  if (character === "*") {
    return after === "*"
      ? { unit: { kind: "deep" }, next: index + 2 }
      : { unit: { kind: "run" }, next: index + 1 };
  }
  if (character === "?") return { unit: { kind: "any" }, next: index + 1 };
  const set = character === "[" ? characterSet(characters, index + 1) : null;
  if (set !== null) return set;
  return character === "\\" && after !== undefined
    ? { unit: { kind: "literal", character: after }, next: index + 2 }
    : { unit: { kind: "literal", character }, next: index + 1 };
}

function parseGlob(pattern: string): readonly GlobUnit[] {
  const characters = [...pattern];
  const units: GlobUnit[] = [];
  for (let index = 0; index < characters.length;) {
    const { unit, next } = unitAt(characters, index);
    units.push(unit);
    index = next;
  }
  return units;
}

/** Returns why a pattern does not mean what it seems to; null if it does. */
export function globFault(pattern: string): string | null {
  const characters = [...pattern];
  if (characters[0] === "!") return "a pattern names what it is about; a ! before it has no meaning";
  for (let index = 0; index < characters.length;) {
    const character = characters[index];
    const { unit, next } = unitAt(characters, index);
    if (character === "{" || character === "}") return "braces have no meaning in a pattern";
    if (character === "[" && unit.kind === "literal") return "the bracket is not closed";
    index = next;
  }
  return null;
}

function matchesOne(unit: GlobUnit, character: string, segments: boolean): boolean {
  if (unit.kind === "literal") return unit.character === character;
  if (segments && character === "/") return unit.kind === "deep";
  if (unit.kind !== "set") return true;
  return unit.ranges.some(([low, high]) => low <= character && character <= high) !== unit.negated;
}

const isSlash = (unit: GlobUnit | undefined): boolean => unit?.kind === "literal" && unit.character === "/";

/**
 * Adds the positions that are reachable without a character: runs may be empty; at a segment's start `**` may
 * vanish with its slash.
 */
function settleReachable(units: readonly GlobUnit[], reachable: Uint8Array, segmentStart: boolean): void {
  for (let index = 0; index < units.length; index++) {
    if (reachable[index] !== 1) continue;
    const unit = units[index];
    if (unit?.kind !== "run" && unit?.kind !== "deep") continue;
    reachable[index + 1] = 1;
    const vanishes = unit.kind === "deep" && segmentStart && (index === 0 || isSlash(units[index - 1]));
    if (vanishes && isSlash(units[index + 1])) reachable[index + 2] = 1;
  }
}

function matchUnits(units: readonly GlobUnit[], text: string, segments: boolean): boolean {
  let reachable = new Uint8Array(units.length + 2);
  let next = new Uint8Array(units.length + 2);
  reachable[0] = 1;
  settleReachable(units, reachable, true);
  for (const character of text) {
    next.fill(0);
    let alive = false;
    for (let index = 0; index < units.length; index++) {
      const unit = units[index];
      if (unit === undefined || reachable[index] !== 1 || !matchesOne(unit, character, segments)) continue;
      next[unit.kind === "run" || unit.kind === "deep" ? index : index + 1] = 1;
      alive = true;
    }
    if (!alive) return false;
    settleReachable(units, next, character === "/");
    [reachable, next] = [next, reachable];
  }
  return reachable[units.length] === 1;
}

/** Prepares a glob for matching many texts. */
export function createGlobMatcher(pattern: string, options: GlobOptions = {}): (text: string) => boolean {
  const segments = options.segments ?? true;
  const units = parseGlob(pattern);
  if (units.every((unit) => unit.kind === "literal")) {
    const literal = units.map((unit) => unit.character).join("");
    return (text) => text === literal;
  }
  return (text) => matchUnits(units, text, segments);
}

/**
 * Returns whether a glob matches the whole text. `*` stays in a path segment, `**` crosses them; `a/**` does not
 * match `a`.
 */
export const matchesGlob = (pattern: string, text: string, options: GlobOptions = {}): boolean =>
  createGlobMatcher(pattern, options)(text);

/**
 * Returns whether a pattern matches a path and everything that may ever exist below it: only patterns ending in
 * `**` can.
 */
export const globCoversBelow = (pattern: string, path: string): boolean =>
  parseGlob(pattern).at(-1)?.kind === "deep" && matchesGlob(pattern, path);

/** Escapes a text as a pattern that matches exactly this text. */
export const escapeGlob = (text: string): string =>
  text.replaceAll(/[\\*?[]/g, (character) => `\\${character}`);

/** Escapes a text for literal use in a regular expression. */
export const escapePattern = (text: string): string =>
  text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
