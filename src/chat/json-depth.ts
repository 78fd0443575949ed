const quote = 0x22;
const backslash = 0x5c;

/** Finds the deepest nesting of a JSON text without parsing it into values. */
export const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) quoted = !quoted;
    else if (quoted) at += code === backslash ? 1 : 0;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, (depth += 1));
    else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
};

/** The deepest nesting that is accepted in input. */
export const deepestInput = 64;
