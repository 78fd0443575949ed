import type { ExecResult } from "#git";
import { byteText } from "../../byte-text.ts";

/** Answers of commands that are completed here. */

export const fine = (stdout = ""): ExecResult => ({ stdout, stderr: "", exitCode: 0 });

/** Returns a failure; 128 is git's exit code for an error, 129 that for a wrong use. */
export const fail = (stderr: string, exitCode = 128): ExecResult => ({ stdout: "", stderr, exitCode });

/** Returns the refusal of an option or form that a command lacks; `way` says what to do without it. */
export const refuse = (command: string, form: string, way: string): ExecResult =>
  fail(`error: ${command} has no ${form} here; ${way}\n`, 129);

/** Reads and writes contents as texts, of which every byte stays. */
export const { decode, encode } = byteText;
