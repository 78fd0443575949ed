import { SandboxError, type Sandbox } from "../../sandbox/contract.ts";
import type { ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

const maxTextBytes = 10 * 1024 * 1024;

export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly type: string; readonly bytes: Uint8Array }
  | { readonly kind: "error"; readonly error: ToolOutput };

const signatures: readonly (readonly [string, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/gzip", [0x1f, 0x8b]],
];

const isWebp = (bytes: Uint8Array): boolean =>
  String.fromCharCode(...bytes.subarray(0, 4), ...bytes.subarray(8, 12)) === "RIFFWEBP";

const typeOf = (bytes: Uint8Array): string =>
  (isWebp(bytes) ? "image/webp" : undefined) ??
  signatures.find(([, signature]) => signature.every((byte, index) => bytes[index] === byte))?.[0] ??
  "application/octet-stream";

async function readFirstBytes(sandbox: Sandbox, path: string): Promise<Uint8Array> {
  try {
    return await sandbox.read(path, { offset: 0, length: maxTextBytes + 1 });
  } catch (error) {
    if (error instanceof SandboxError && error.code === "range") return new Uint8Array();
    throw error;
  }
}

function decodeUtf8(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

/** Reads a file as text, if it is UTF-8 text of at most 10 MiB. */
export async function readFileText(sandbox: Sandbox, path: string): Promise<FileText> {
  const bytes = await readFirstBytes(sandbox, path);
  if (bytes.length > maxTextBytes) {
    const sentence = `${path} is larger than ${maxTextBytes} bytes; search it or print a part with a command`;
    return { kind: "error", error: toolError("too_large", sentence) };
  }
  const text = decodeUtf8(bytes);
  return text === null ? { kind: "binary", type: typeOf(bytes), bytes } : { kind: "text", text };
}

export const binaryNote = (
  path: string,
  { type, bytes }: { readonly type: string; readonly bytes: Uint8Array },
): string => `${path} is a binary file: ${type}, ${bytes.length} bytes.`;
