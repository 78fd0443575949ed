import type { MessageEntry } from "../../client/transcript.ts";
import { FileDialog } from "../parts/file-dialog.tsx";
import { useApp, useSession } from "../state/app.ts";

/** A file that was sent with a message. */

type AttachedPart = Extract<MessageEntry["parts"][number], { readonly type: "image" | "document" }>;

interface AttachedProps {
  readonly part: AttachedPart;
  readonly onClose: () => void;
}

export const Attached = ({ part, onClose }: AttachedProps) => {
  const { api } = useApp();
  const { id } = useSession();
  const { type, blob = "", media_type: mediaType, name = mediaType } = part;
  return (
    <FileDialog
      id={`${id} ${blob}`}
      name={name}
      imageType={type === "image" ? mediaType : undefined}
      read={(signal) => api.request(`/sessions/${id}/files/${blob}?format=bytes`, { signal })}
      onClose={onClose}
    />
  );
};
