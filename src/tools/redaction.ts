/** Removes known secrets from events, deltas, results, errors and logs. Other text stays byte for byte. */

/** Replaces known secrets in every form in which they may return; a value without secrets stays the same. */
export interface Redactor {
  /** Adds a secret; one shorter than 8 characters cannot be distinguished from other text and is ignored. */
  readonly learn: (name: string, value: string) => void;
  /** Returns whether a text holds a known secret. */
  readonly holds: (text: string) => boolean;
  /** Returns the text with `[secret:NAME]` for each secret. */
  readonly text: (text: string) => string;
  /** Redacts every text in a plain JSON value, including keys. */
  readonly value: <T>(value: T) => T;
  /**
   * Creates a filter of a text that arrives in pieces: the joined output is always a prefix of the redacted whole
   * text.
   */
  readonly stream: () => (piece: string) => string;
}

const shortest = 8;

const encoder = new TextEncoder();

/** Returns the base64 characters of a value after 0 to 2 other bytes, without those that its neighbours influence. */
const base64FormsOf = (value: string): readonly string[] => {
  const bytes = encoder.encode(value);
  return [0, 1, 2].map((shift) => {
    const shifted = String.fromCharCode(...new Uint8Array(shift), ...bytes);
    const whole = Math.floor(((shift + bytes.length) * 8) / 6);
    return btoa(shifted).slice(Math.ceil((shift * 8) / 6), whole);
  });
};

const jsonFormOf = (value: string): string => JSON.stringify(value).slice(1, -1);

const urlForms = (value: string): readonly string[] => {
  const percent = encodeURIComponent(value);
  const form = new URLSearchParams({ v: value }).toString().slice(2);
  const lower = (text: string): string => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [percent, form, lower(percent), lower(form)];
};

/**
 * Returns the forms that a secret may take: plain, URL-encoded, as JSON, as JSON in JSON, and as base64 of either
 * alphabet.
 */
const formsOf = (given: string): readonly string[] => {
  const value = given.toWellFormed();
  const json = jsonFormOf(value);
  const base64 = base64FormsOf(value);
  const safe = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const forms = [value, ...urlForms(value), json, jsonFormOf(json), ...base64, ...safe];
  return [...new Set(forms)].filter(({ length }) => length >= shortest);
};

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);

/** Returns one pattern of all forms, the longest first, so that of two with the same beginning the longer is found. */
const patternOf = (forms: Iterable<string>): RegExp => {
  const longest = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(longest.map(escapePattern).join("|"), "g");
};

/** Returns where the possible beginning of a form starts at the end of a text; its length if there is none. */
const findHeldStart = (
  text: string,
  byFirst: ReadonlyMap<string, readonly string[]>,
  longest: number,
): number => {
  for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
    const candidates = byFirst.get(text.charAt(at));
    if (candidates === undefined) continue;
    const tail = text.slice(at);
    if (candidates.some((form) => form.length > tail.length && form.startsWith(tail))) return at;
  }
  return text.length;
};

interface KnownForms {
  readonly names: ReadonlyMap<string, string>;
  readonly pattern: RegExp;
  readonly byFirst: ReadonlyMap<string, readonly string[]>;
  readonly longest: number;
}

const createKnownForms = (names: ReadonlyMap<string, string>): KnownForms => {
  const forms = [...names.keys()];
  const byFirst = Map.groupBy(forms, (form) => form.charAt(0));
  const longest = Math.max(...forms.map(({ length }) => length));
  return { names, pattern: patternOf(forms), byFirst, longest };
};

const markSecret = (names: KnownForms["names"], form: string): string => `[secret:${names.get(form) ?? ""}]`;

/** Splits a streamed text into what can already be shown and the rest, which may be the beginning of a secret. */
const splitSettled = (
  text: string,
  { names, pattern, byFirst, longest }: KnownForms,
): readonly [string, string] => {
  const held = findHeldStart(text, byFirst, longest);
  let shown = "";
  let at = 0;
  for (const { 0: form, index } of text.matchAll(pattern)) {
    if (index >= held) break;
    shown += text.slice(at, index) + markSecret(names, form);
    at = index + form.length;
  }
  return [shown + text.slice(at, Math.max(at, held)), text.slice(Math.max(at, held))];
};

const mapTexts = (value: unknown, text: (text: string) => string): unknown => {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((each: unknown) => mapTexts(each, text));
    return items.every((each, index) => each === value[index]) ? value : items;
  }
  if (ArrayBuffer.isView(value)) return value;
  const before = Object.entries(value);
  const after = before.map(([key, each]) => [text(key), mapTexts(each, text)] as const);
  const same = after.every(([key, each], index) => key === before[index]?.[0] && each === before[index][1]);
  return same ? value : Object.fromEntries(after);
};

/** Creates a redactor that knows the given secrets by their names. */
export const createRedactor = (secrets: Iterable<readonly [string, string]> = []): Redactor => {
  const names = new Map<string, string>();
  let known: KnownForms | null = null;
  const learn = (name: string, value: string): void => {
    if (value.length < shortest || names.has(value.toWellFormed())) return;
    for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name);
    known = createKnownForms(names);
  };
  const holds = (text: string): boolean => {
    if (known === null) return false;
    known.pattern.lastIndex = 0;
    return known.pattern.test(text);
  };
  const text = (given: string): string =>
    known !== null && holds(given) ? given.replace(known.pattern, (form) => markSecret(names, form)) : given;
  for (const [name, value] of secrets) learn(name, value);
  return {
    learn,
    holds,
    text,
    value: <T>(value: T): T => (known === null ? value : (mapTexts(value, text) as T)),
    stream: () => {
      let held = "";
      return (piece) => {
        if (known === null) return piece;
        const [shown, rest] = splitSettled(held + piece, known);
        held = rest;
        return shown;
      };
    },
  };
};
