import type { ToolErrorCode } from "../../tools/errors.ts";

/** Failure of a browser call that the model can act on. */
export class BrowserFailure extends Error {
  readonly code: ToolErrorCode;
  constructor(code: ToolErrorCode, sentence: string) {
    super(sentence);
    this.name = "BrowserFailure";
    this.code = code;
  }
}
