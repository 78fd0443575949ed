/**
 * Returns the pattern that a separator of awk means: one character, other than a space, is that character. The shell's
 * awk calls it.
 * @public
 */
export const asPattern = (separator: string): string =>
  separator.length === 1 ? separator.replace(/[$^*+?.()|[\]{}\\]/, "\\$&") : separator;
