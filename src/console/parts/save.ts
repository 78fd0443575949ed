/** Gives bytes to the browser under a name, without an address that would have to hold the key. */
export const saveBytes = (bytes: Blob, name: string): void => {
  const link = document.createElement("a");
  const address = URL.createObjectURL(bytes);
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
};
