const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Writes a command that reads an address, for each of some queries; a key is a variable of the shell, never a text. */
export const writeCurl = (address: string, queries: readonly string[], needsKey: boolean): string =>
  queries
    .map((query) => {
      const key = needsKey ? '-H "Authorization: Bearer $LIMPET_KEY" ' : "";
      return `curl ${key}${quote(`${address}${query === "" ? "" : `?${query}`}`)}`;
    })
    .join("\n");
