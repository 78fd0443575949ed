import { stopWords } from "../../../agent/memory/reflections.ts";
import { wordsOf } from "../../../chat/text.ts";
import { fromBase64, toBase64 } from "../../../sandbox/base64.ts";

/** Ranks remembered texts for a query by shared words, by vectors, and by diversity, in pure functions. */

const shortWords =
  "a an and any are as at be but by can did do for get got had has he her him his how i if in is it its let may me my no not of off on one or our out own she so the to too try up us was we who why yes yet you";

const silentWords: ReadonlySet<string> = new Set([...stopWords, ...shortWords.split(" ")]);

/** Number of distinct words beyond which the rest of a query adds little. */
const mostQueryWords = 64;

/** Returns the distinct informative words of a query; all of its words if none is informative. */
export const queryWords = (text: string): ReadonlySet<string> => {
  const words = new Set(wordsOf(text));
  const telling = [...words].filter((word) => !silentWords.has(word));
  return new Set((telling.length === 0 ? [...words] : telling).slice(0, mostQueryWords));
};

/** Text that may fit. */
interface Candidate {
  readonly words: ReadonlySet<string>;
  /** The cosine of its vector with the query's; null without vectors. */
  readonly cosine: number | null;
}

/** Number of words that a longer query counts as: nothing remembered shares most of a long text. */
const enoughWords = 8;

/** Scores by the share of the query's words, weighted by their rarity among the candidates, from 0 to 1. */
const scoreByWords = (candidates: readonly Candidate[], query: ReadonlySet<string>): readonly number[] => {
  if (query.size === 0) return candidates.map(() => 0);
  const weights = new Map(
    [...query].map((word) => {
      const holders = candidates.filter(({ words }) => words.has(word)).length;
      return [word, Math.log(1 + candidates.length / Math.max(1, holders))] as const;
    }),
  );
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const whole = (total / query.size) * Math.min(query.size, enoughWords);
  return candidates.map(({ words }) => {
    const shared = [...weights].reduce((sum, [word, weight]) => sum + (words.has(word) ? weight : 0), 0);
    return Math.min(1, shared / whole);
  });
};

const jaccard = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const shared = a.intersection(b).size;
  return shared === 0 ? 0 : shared / (a.size + b.size - shared);
};

/** Share of the fit in choosing the next text; the rest is for being unlike those chosen. */
const lambda = 0.7;

/**
 * Chooses the best candidates whose score reaches the threshold by maximal marginal relevance. The score is
 * the better of both, so that texts with the same words and texts with the same meaning are found alike.
 */
export const selectCandidates = <C extends Candidate>(
  candidates: readonly C[],
  query: ReadonlySet<string>,
  { limit, threshold }: { readonly limit: number; readonly threshold: number },
): readonly { readonly candidate: C; readonly score: number }[] => {
  const byWords = scoreByWords(candidates, query);
  let left = candidates
    .map((candidate, index) => {
      const score = Math.max(byWords[index] ?? 0, candidate.cosine ?? 0);
      return { candidate, score, likeness: 0 };
    })
    .filter(({ score }) => score > 0 && score >= threshold)
    .sort((a, b) => b.score - a.score)
    .slice(0, Math.max(2 * limit, 10));
  const chosen: { readonly candidate: C; readonly score: number }[] = [];
  while (chosen.length < limit && left.length > 0) {
    const worth = ({ score, likeness }: (typeof left)[number]): number =>
      lambda * score - (1 - lambda) * likeness;
    const next = left.reduce((best, each) => (worth(each) > worth(best) ? each : best));
    chosen.push({ candidate: next.candidate, score: next.score });
    left = left
      .filter((each) => each !== next)
      .map((each) => ({
        ...each,
        likeness: Math.max(each.likeness, jaccard(each.candidate.words, next.candidate.words)),
      }));
  }
  return chosen;
};

/** Packs a vector as signed bytes in base64: a cosine changes by less than 0.01 in a quarter of the space. */
export const packVector = (values: readonly number[]): string => {
  const greatest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = greatest === 0 ? 0 : 127 / greatest;
  const bytes = Int8Array.from(values, (value) => Math.round(value * scale));
  return toBase64(new Uint8Array(bytes.buffer));
};

export const unpackVector = (text: string): Int8Array => new Int8Array(fromBase64(text).buffer);

/** Returns the cosine of two vectors; 0 for vectors that do not compare. */
export const cosineSimilarity = (a: Int8Array, b: Int8Array): number => {
  if (a.length !== b.length) return 0;
  let dot = 0;
  let left = 0;
  let right = 0;
  for (let at = 0; at < a.length; at++) {
    const x = a[at] ?? 0;
    const y = b[at] ?? 0;
    dot += x * y;
    left += x * x;
    right += y * y;
  }
  return left === 0 || right === 0 ? 0 : dot / Math.sqrt(left * right);
};
