import type { LocalizeQuery } from "./contract.ts";

/** Finds by what terms the sandbox looks for the files that a text may be about, from the text alone. */

/** Number of characters that are read of a text. */
const longestText = 100_000;

const mostPaths = 100;

const mostIdentifiers = 200;

const mostPhrases = 32;

/** Most characters of a path or identifier. */
const longestName = 300;

/** Ordinary words and names of products that look like paths or identifiers. */
const stopWords = new Set(
  "e.g i.e a.k.a p.s node.js vue.js next.js asp.net javascript typescript coffeescript github gitlab bitbucket youtube linkedin stackoverflow postgresql mysql mongodb graphql nosql sqlite dynamodb openai deepseek chatgpt macos ios iphone ipad openssl oauth openapi webassembly websocket websockets devops vscode intellij powershell".split(
    " ",
  ),
);

/** Addresses, which are no paths of the workspace. */
const address = /\b[a-z][a-z0-9+.-]{0,20}:\/\/\S*|\bwww\.\S*/giu;

const tokenBreak = /[\s"'`“”‘’()[\]{}<>,;|=*]+/u;

/** Place in a file, or end of a sentence, after a path. */
const pathEnd = /(?::\d+){1,2}$|[.:!?]+$/u;

/** Name with an extension of 1 to 8 characters, one of them a letter, so that versions do not match. */
const fileName = /[^/]\.(?=[^/]*[a-z])[a-z0-9]{1,8}$/iu;

const version = /^v?\d+(?:\.\d+)+(?:[-+.].*)?$/iu;

const mailAddress = /\w@\w/u;

const quotes = [
  /(?<!\w)"([^"\n]{3,80})"(?!\w)/gu,
  /(?<!\w)'([^'\n]{3,80})'(?!\w)/gu,
  /`([^`\n]{3,80})`/gu,
  /“([^”\n]{3,80})”/gu,
];

/** Message that stands in a file, after one of these words and a colon or dash. */
const errorText = /(?:error|fail|panic|fatal)\w{0,20}(?: ?: ?| --? )(\S[^\n]{2,119})/giu;

const word = /[\p{L}_$][\p{L}\p{N}_$]{2,}/gu;

/** Parts joined by underscores or by a change of case: a word that is not written by accident. */
const joinedWord = /[\p{L}\p{N}]_+[\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u;

const pluralOfCapitals = /^\p{Lu}+s$/u;

const isStopWord = (text: string): boolean => stopWords.has(text.toLowerCase());

/** Returns the first of those texts that are equal in any case, at most `most` of them. */
const distinct = (texts: readonly string[], most: number): readonly string[] => {
  const found = new Map<string, string>();
  for (const text of texts)
    if (found.size < most && !found.has(text.toLowerCase())) found.set(text.toLowerCase(), text);
  return [...found.values()];
};

const groupsOf = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, group = ""]) => group);

/** Returns a token as a path from the root of the workspace; null if it is none. */
const pathIn = (token: string): string | null => {
  if (token.length > longestName) return null;
  const path = token
    .replace(pathEnd, "")
    .replace(pathEnd, "")
    .replaceAll("\\", "/")
    .replace(/^(?:[a-z]:)?(?:\.{0,2}\/+)+/iu, "");
  if (!fileName.test(path) || version.test(path) || mailAddress.test(path) || isStopWord(path)) return null;
  return path;
};

/** Returns the paths of a text and the names of their files. */
const pathsIn = (text: string): readonly string[] =>
  text.split(tokenBreak).flatMap((token) => {
    const path = pathIn(token);
    return path === null ? [] : [path, path.slice(path.lastIndexOf("/") + 1)];
  });

const identifiersIn = (text: string): readonly string[] =>
  (text.match(word) ?? []).filter(
    (each) =>
      each.length <= longestName &&
      joinedWord.test(each) &&
      !pluralOfCapitals.test(each) &&
      !isStopWord(each),
  );

const phrasesIn = (text: string): readonly string[] =>
  [
    ...quotes.flatMap((quote) => groupsOf(text, quote)).map((phrase) => phrase.trim()),
    ...groupsOf(text, errorText).map((message) => message.replace(/[\s.!"'`]+$/u, "")),
  ].filter((phrase) => phrase.length >= 3);

/** Returns the terms by which files that a text may be about can be found; null if it has none. */
export const localizeTermsOf = (text: string): Omit<LocalizeQuery, "directory"> | null => {
  const read = text.slice(0, longestText).replace(address, " ");
  const terms = {
    paths: distinct(pathsIn(read), mostPaths),
    identifiers: distinct(identifiersIn(read), mostIdentifiers),
    phrases: distinct(phrasesIn(read), mostPhrases),
  };
  return Object.values(terms).every(({ length }) => length === 0) ? null : terms;
};
