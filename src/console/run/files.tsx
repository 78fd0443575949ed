import { useRef, useState } from "preact/hooks";
import type { Transcript } from "../../client/transcript.ts";
import { nameFile } from "../conversation/problems.ts";
import { IconButton, Loading } from "../parts/controls.tsx";
import { escapeInLine } from "../parts/escape.ts";
import { FileDialog, imageTypeOf } from "../parts/file-dialog.tsx";
import { formatBytes } from "../parts/format.ts";
import { useLoad } from "../parts/load.ts";
import { Icon } from "../parts/icons.tsx";
import { saveBytes } from "../parts/save.ts";
import { encodePath } from "../state/api.ts";
import { useApp, useSession } from "../state/app.ts";
import { readPages } from "../state/pages.ts";

/** The files of the session's workspace: folders, download, upload. */

interface FileRow {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

const Path = ({ path, onOpen }: { readonly path: string; readonly onOpen: (path: string) => void }) => {
  const names = path === "" ? [] : path.split("/");
  return (
    <nav class="path" aria-label="Folder">
      <button type="button" class="link" onClick={() => onOpen("")}>
        Workspace
      </button>
      {names.map((name, at) => (
        <span key={name}>
          {" / "}
          <button type="button" class="link mono" onClick={() => onOpen(names.slice(0, at + 1).join("/"))}>
            {escapeInLine(name)}
          </button>
        </span>
      ))}
    </nav>
  );
};

const Upload = ({ folder }: { readonly folder: string }) => {
  const { api, report } = useApp();
  const { id } = useSession();
  const input = useRef<HTMLInputElement>(null);
  /** One that is refused keeps none of the others back. */
  const put = async (files: readonly globalThis.File[]): Promise<void> => {
    for (const file of files) {
      const path = encodePath(folder === "" ? file.name : `${folder}/${file.name}`);
      const address = `/sessions/${id}/workspace/${path}`;
      const sent = nameFile(file, api.request(address, { method: "PUT", body: file }));
      report(sent);
      await sent.catch(() => undefined);
    }
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          void put([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      <button type="button" class="button" onClick={() => input.current?.click()}>
        <Icon name="upload" />
        Upload
      </button>
    </>
  );
};

/** Files may have changed after each of these events. */
const countChanges = ({ threads }: Transcript): number =>
  threads.reduce(
    (sum, { entries }) =>
      sum +
      entries.filter((entry) =>
        entry.kind === "call"
          ? entry.state === "done" && entry.safety !== "read"
          : entry.kind === "note" && entry.event.type === "file_change",
      ).length,
    0,
  );

const isFolder = ({ type }: FileRow): boolean => type !== "file";

const byName = (one: FileRow, other: FileRow): number =>
  Number(isFolder(other)) - Number(isFolder(one)) || one.name.localeCompare(other.name);

interface FileProps {
  readonly file: FileRow;
  readonly onOpen: () => void;
  readonly onDownload: () => void;
}

const File = ({ file, onOpen, onDownload }: FileProps) => (
  <li>
    {isFolder(file) ? (
      <button type="button" class="file-name" onClick={onOpen}>
        <Icon name="folder" />
        <span class="mono cut">{escapeInLine(file.name)}</span>
      </button>
    ) : (
      <>
        <button type="button" class="file-name" onClick={onOpen}>
          <Icon name="file" />
          <span class="mono cut">{escapeInLine(file.name)}</span>
        </button>
        <span class="meta">{formatBytes(file.size)}</span>
        <IconButton name="download" label={`Download ${escapeInLine(file.name)}`} onClick={onDownload} />
      </>
    )}
  </li>
);

export const FilesTab = ({ transcript }: { readonly transcript: Transcript }) => {
  const { api, report } = useApp();
  const { id } = useSession();
  const [folder, setFolder] = useState("");
  const [opened, setOpened] = useState<string | null>(null);
  const { state, value, problem } = useLoad(
    `${id} ${folder}`,
    async (signal) => {
      const path = folder === "" ? "" : `/${encodePath(folder)}`;
      const address = `/sessions/${id}/workspace${path}?limit=200`;
      return (await readPages<FileRow>((cursor) => api.read(address + cursor, { signal }))).rows;
    },
    countChanges(transcript),
  );
  const pathOf = (name: string): string => (folder === "" ? name : `${folder}/${name}`);
  const read = (address: string, signal?: AbortSignal) =>
    api.request(`/sessions/${id}/workspace${address}`, signal === undefined ? {} : { signal });
  const save = async (address: string, name: string): Promise<void> =>
    saveBytes(await (await read(address)).blob(), name);
  return (
    <>
      <div class="files-bar">
        <Path path={folder} onOpen={setFolder} />
        <Upload folder={folder} />
      </div>
      {state === "loading" && <Loading />}
      {problem !== null && <p class="empty bad">{problem}</p>}
      {value?.length === 0 && (
        <p class="empty meta">No files here. What the agent writes, and what you upload, appears here.</p>
      )}
      <ul class="files">
        {value?.toSorted(byName).map((file) => (
          <File
            key={file.name}
            file={file}
            onOpen={() => (isFolder(file) ? setFolder : setOpened)(pathOf(file.name))}
            onDownload={() => report(save(`/${encodePath(pathOf(file.name))}`, file.name))}
          />
        ))}
      </ul>
      {value !== null && value.length > 0 && (
        <button type="button" class="plain" onClick={() => report(save("?format=tar", "workspace.tar"))}>
          <Icon name="download" />
          All of it as a tar file
        </button>
      )}
      {opened !== null && (
        <FileDialog
          id={`${id} ${opened}`}
          name={opened.split("/").at(-1) ?? opened}
          imageType={imageTypeOf(opened)}
          read={(signal) => read(`/${encodePath(opened)}`, signal)}
          onClose={() => setOpened(null)}
        />
      )}
    </>
  );
};
