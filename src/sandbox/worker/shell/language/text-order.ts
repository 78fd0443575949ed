interface Ordered {
  readonly localeCompare: (other: string) => number;
}

/**
 * Compares a text with others by the numbers of their characters. The shell itself calls it.
 * @public
 */
export const orderText = (text: string): Ordered => ({
  localeCompare: (other) => (text < other ? -1 : text > other ? 1 : 0),
});
