import { Confirm } from "../parts/dialog.tsx";
import { useApp, useSession } from "../state/app.ts";

interface StopQuestionProps {
  readonly runsTool: boolean;
  readonly onClose: () => void;
}

/** Says what is broken off or dropped if the run is stopped now. */
export const StopQuestion = ({ runsTool, onClose }: StopQuestionProps) => {
  const session = useSession();
  const { report } = useApp();
  return (
    <Confirm
      title="Stop the run?"
      text={
        runsTool
          ? "A tool is running. What it has done stays done, and nobody may know how far it came."
          : "What it asks is dropped, and an answer that you have begun is not used."
      }
      verb="Stop it"
      onDo={() => report(session.cancel())}
      onClose={onClose}
    />
  );
};
