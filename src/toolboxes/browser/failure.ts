import type { ToolErrorCode } from "../../tools/errors.ts";

/** A call of the browser failed in a way that the model can use. */
export class BrowserFailure extends Error {
  readonly code: ToolErrorCode;
  constructor(code: ToolErrorCode, sentence: string) {
    super(sentence);
    this.name = "BrowserFailure";
    this.code = code;
  }
}
