import type { SandboxCapabilities, SandboxLimits } from "../contract.ts";
import type { Commands } from "./shell/commands.ts";
import { createCommands } from "./shell/commands.ts";
import type { Database } from "./files/database.ts";
import { metaOf, openStorage, setMeta } from "./files/database.ts";
import type { Disk } from "./files/files.ts";
import { noFacts } from "./files/files.ts";
import { retention } from "./outcomes.ts";
import type { Settings } from "./requests.ts";
import { createRoutes } from "./routes.ts";

/** Limits unless `PUT /` sets others. */
const defaultLimits: SandboxLimits = {
  wall: 10 * 60 * 1000,
  output: 1024 * 1024,
  processes: 64,
  disk: 256 * 1024 * 1024,
  file: 32 * 1024 * 1024,
};

/** Services of the object that a workspace needs. */
export interface WorkspaceHost {
  readonly database: Database;
  readonly now: () => number;
  readonly waitUntil: (promise: Promise<void>) => void;
  /** Schedules a call of `expire` at this time, unless one is scheduled already. */
  readonly remind: (time: number) => void;
  /** Erases all storage. */
  readonly erase: () => Promise<void>;
}

/** One workspace, from its first row to its removal. */
export interface Workspace {
  readonly disk: Disk;
  readonly commands: Commands;
  /** Name of the workspace and of its memory of commands. */
  readonly instance: () => string;
  readonly settings: () => Settings;
  readonly configure: (settings: Settings) => void;
  readonly capabilities: () => SandboxCapabilities;
  /** Announces that there is now something that expires. */
  readonly remember: () => void;
  readonly destroy: () => Promise<void>;
}

/** Workspace as its object uses it: answers requests and deletes expired data. */
export interface WorkspaceServer {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Deletes outcomes older than a day; returns the time of the next call, or null if nothing is left. */
  readonly expire: () => number | null;
}

/** Opens the workspace that the storage holds; `onRemoved` is called once it is empty. */
function openWorkspace(host: WorkspaceHost, onRemoved: () => void): WorkspaceServer {
  const { now } = host;
  const database = openStorage(host.database);
  let settings = JSON.parse(metaOf(database, "settings") ?? "{}") as Settings;
  const limits = (): SandboxLimits => ({ ...defaultLimits, ...settings.limits });
  const disk: Disk = { database, now, limits, known: noFacts() };
  const commands = createCommands({ disk, waitUntil: host.waitUntil });
  const app = createRoutes({
    disk,
    commands,
    instance: database.instance,
    settings: () => settings,
    configure: (next) => {
      settings = next;
      setMeta(database, "settings", JSON.stringify(next));
    },
    capabilities: () => ({
      driver: "bash",
      version: "1",
      processes: false,
      egress: "none",
      jail: "exact",
      persistent: true,
      git: true,
      limits: { ...limits() },
    }),
    remember: () => host.remind(now() + retention),
    destroy: async () => {
      while (commands.running() > 0) await commands.stop();
      if (database.isClosed()) return;
      database.close();
      const erased = host.erase();
      onRemoved();
      await erased;
    },
  });
  return {
    fetch: async (request) => app.fetch(request),
    expire: () => {
      const before = now() - retention;
      database.all("DELETE FROM outcomes WHERE at <= ?", before);
      if (commands.forget(before)) database.renameMemory();
      const [oldest] = database.all<{ at: number | null }>(
        "SELECT MIN(at) AS at FROM (SELECT at FROM outcomes UNION ALL SELECT started_at AS at FROM commands)",
      );
      return typeof oldest?.at === "number" ? oldest.at + retention : null;
    },
  };
}

/** Creates the workspaces of an object over any database, one after another; this is the driver `bash`. */
export function createWorkspace(host: WorkspaceHost): WorkspaceServer {
  const open = (): WorkspaceServer => openWorkspace(host, () => void (current = open()));
  let current = open();
  return { fetch: (request) => current.fetch(request), expire: () => current.expire() };
}
