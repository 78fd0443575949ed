import { fileRoute, listFolder, postOf } from "./client.ts";
import type { ChangeIdentity, ChangeOutcome, Preconditions, WorkspaceFiles } from "./contract.ts";
import { isOfSkills } from "./writable.ts";
import { createWire, leaveBody, readJson } from "./wire.ts";
import type { Fetcher } from "./wire.ts";

/** Milliseconds of a person's change of a file, including the transfer of its bytes. */
const fileChangeMs = 240_000;

const headersOf = ({
  key,
  instance,
  ifMatch,
  ifNoneMatch,
}: Preconditions & ChangeIdentity): Record<string, string> => ({
  "Idempotency-Key": key,
  ...(instance === undefined ? {} : { "Sandbox-Instance": instance }),
  ...(ifMatch === undefined ? {} : { "If-Match": ifMatch }),
  ...(ifNoneMatch === undefined ? {} : { "If-None-Match": ifNoneMatch }),
});

const tarRoute = (path: string): string => fileRoute(path).replace(/^\/file/, "/tar");

/**
 * Creates a person's access to the files of a sandbox. It neither configures the sandbox nor waits for its initial
 * files.
 */
export const createWorkspaceFiles = (fetcher: Fetcher, id: string): WorkspaceFiles => {
  const wire = createWire(fetcher, id, {}, { instance: null });
  return {
    open: (path, range) => {
      const headers: Record<string, string> = range === undefined ? {} : { Range: range };
      return wire.send({ method: "GET", path: fileRoute(path), headers }, leaveBody);
    },
    list: async (path, { limit, ...part }) => {
      // One more, since the skills folder may be among them.
      const found = await listFolder(wire, path, { ...part, limit: limit + 1 });
      const entries = found.filter((entry) => !isOfSkills(entry.path));
      return part.before === undefined ? entries.slice(0, limit) : entries.slice(-limit);
    },
    put: (path, { content, size }, options) => {
      const request = {
        method: "PUT" as const,
        path: fileRoute(path),
        ...(content === null ? {} : { body: content }),
        headers: { ...headersOf(options), "Sandbox-Size": String(size) },
        timeoutMs: fileChangeMs,
      };
      return wire.send(request, readJson<ChangeOutcome>);
    },
    pack: (path) => wire.send({ method: "GET", path: tarRoute(path) }, leaveBody),
    unpack: (path, body, options) => {
      const request = {
        method: "PUT" as const,
        path: tarRoute(path),
        ...(body === null ? {} : { body }),
        headers: headersOf(options),
        timeoutMs: fileChangeMs,
      };
      return wire.send(request, readJson<ChangeOutcome>);
    },
    remove: (path, { recursive, ...options }) => {
      const request = postOf("/fs/delete", { path, recursive }, headersOf(options));
      return wire.send(request, readJson<ChangeOutcome>);
    },
  };
};
