/** Puts a text into the field for messages, below what stands in it, as if a person had typed it. */
export const fillComposer = (text: string): void => {
  const field = document.getElementById("composer");
  if (!(field instanceof HTMLTextAreaElement)) return;
  field.value = [field.value, text].filter((each) => each !== "").join("\n");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
};
