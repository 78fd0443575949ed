import { Confirm } from "../parts/dialog.tsx";
import { useApp } from "../state/app.ts";
import { forgetAll } from "./forget.ts";

/** Asks before the key is forgotten, and with it what was not sent. */
export const ForgetDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const { report } = useApp();
  return (
    <Confirm
      title="Forget the key?"
      text="What you have written, attached or decided, and what was not sent yet, is forgotten, too."
      verb="Forget it"
      onDo={() => report(forgetAll())}
      onClose={onClose}
    />
  );
};
