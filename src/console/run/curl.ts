const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Writes the command that lists events of these types, or all; a key is a variable of the shell, never a text. */
export const writeCurl = (events: string, types: readonly string[], needsKey: boolean): string => {
  const query = types.length === 0 ? "" : `?types=${types.join(",")}`;
  return `curl ${needsKey ? '-H "Authorization: Bearer $LIMPET_KEY" ' : ""}${quote(`${events}${query}`)}`;
};
