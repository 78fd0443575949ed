import type { MessageEntry } from "../../client/transcript.ts";
import { Dialog } from "../parts/controls.tsx";
import { escapeInLine, escapeInLines } from "../parts/escape.ts";
import { formatBytes } from "../parts/format.ts";
import { useLoad } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { saveBytes } from "../parts/save.ts";
import { useApp, useSession } from "../state/app.ts";

/** A file that was sent with a message: an image or a text is shown, and all of them can be downloaded. */

type AttachedPart = Extract<MessageEntry["parts"][number], { readonly type: "image" | "document" }>;

interface Content {
  readonly bytes: Blob;
  /** An address that holds the bytes themselves: the page shows images from nowhere else. */
  readonly image: string | null;
  readonly text: string | null;
}

const readAsAddress = async (bytes: Blob): Promise<string> => {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    reader.addEventListener("load", resolve);
    reader.addEventListener("error", () => reject(new Error("The image cannot be read.")));
    reader.readAsDataURL(bytes);
  });
  return typeof reader.result === "string" ? reader.result : "";
};

const Shown = ({ content, name }: { readonly content: Content; readonly name: string }) => {
  if (content.image !== null) return <img src={content.image} alt={name} />;
  return content.text === null ? null : (
    <pre class="sheet" tabIndex={0}>
      {escapeInLines(content.text)}
    </pre>
  );
};

interface AttachedProps {
  readonly part: AttachedPart;
  readonly onClose: () => void;
}

export const Attached = ({ part, onClose }: AttachedProps) => {
  const { api } = useApp();
  const { id } = useSession();
  const { type, blob = "", media_type: mediaType } = part;
  const name = part.name ?? mediaType;
  const { value, problem } = useLoad(`${id} ${blob}`, async (signal): Promise<Content> => {
    const answer = await api.request(`/sessions/${id}/files/${blob}?format=bytes`, { signal });
    const bytes = new Blob([await answer.arrayBuffer()], { type: mediaType });
    return {
      bytes,
      image: type === "image" ? await readAsAddress(bytes) : null,
      text: mediaType.startsWith("text/") ? await bytes.text() : null,
    };
  });
  return (
    <Dialog title={escapeInLine(name)} class="attached" onClose={onClose}>
      {problem !== null && <p class="bad">{problem}</p>}
      {value !== null && <Shown content={value} name={escapeInLine(name)} />}
      <div class="row-of-buttons">
        {value !== null && (
          <button type="button" class="button" onClick={() => saveBytes(value.bytes, name)}>
            <Icon name="download" />
            Download, {formatBytes(value.bytes.size)}
          </button>
        )}
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
};
