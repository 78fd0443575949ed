/** Calculations of `$((…))` for which the shell's own take 32 bits, or round. */

const bits: Readonly<Record<string, (left: bigint, right: bigint) => bigint>> = {
  "<<": (left, right) => left << (right & 63n),
  ">>": (left, right) => left >> (right & 63n),
  "&": (left, right) => left & right,
  "|": (left, right) => left | right,
  "^": (left, right) => left ^ right,
};

const sums: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "**": (left, right) => left ** right,
};

/**
 * Returns what an operator makes of two whole numbers, where it is one that the shell's own calculation gets wrong;
 * otherwise null. A result that a number cannot hold is a failure. The shell itself calls it.
 * @public
 */
export function calculate(
  left: number,
  right: number,
  given: string,
  Failure: new (message: string) => Error,
): number | null {
  const operator = given.replace(/=$/, "");
  const [bit, sum] = [bits[operator], sums[operator]];
  if (![left, right].every(Number.isSafeInteger) || (operator === "**" && right < 0)) return null;
  const result =
    bit === undefined ? sum?.(left, right) : Number(BigInt.asIntN(64, bit(BigInt(left), BigInt(right))));
  if (result === undefined || Number.isSafeInteger(result)) return result ?? null;
  throw new Failure(
    `${left} ${operator} ${right}: results beyond 2^53 are not supported here; take a remainder (%) before`,
  );
}
