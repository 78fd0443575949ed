import type { ExecResult } from "#git";

/** Answers of commands that are completed here. */

export const fine = (stdout = ""): ExecResult => ({ stdout, stderr: "", exitCode: 0 });

/** Returns a failure; 128 is git's exit code for an error, 129 that for a wrong use. */
export const fail = (stderr: string, exitCode = 128): ExecResult => ({ stdout: "", stderr, exitCode });

/** Returns the refusal of an option or form that a command lacks; `way` says what to do without it. */
export const refuse = (command: string, form: string, way: string): ExecResult =>
  fail(`error: ${command} has no ${form} here; ${way}\n`, 129);

/** Returns a content as text, with its byte order mark; throws if it is no UTF-8. */
export const textIn = (content: Uint8Array): string =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);

export const decode = (content: Uint8Array): string =>
  new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(content);

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
