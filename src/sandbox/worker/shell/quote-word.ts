/** Quotes a word for a script. */
export const quoteWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
