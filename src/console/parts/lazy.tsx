import { h } from "preact";
import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Makes a component whose code is loaded when it is first shown, so that the first page does not wait for it. */
export const lazy = <P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> => {
  let loaded: FunctionComponent<P> | null = null;
  return (props: P) => {
    const [failed, setFailed] = useState(false);
    const [, setReady] = useState(loaded !== null);
    useEffect(() => {
      const show = async (): Promise<void> => {
        try {
          loaded ??= await load();
          setReady(true);
        } catch {
          setFailed(true);
        }
      };
      void show();
    }, []);
    if (failed)
      return (
        <p class="empty">
          This part could not be loaded. Reload this page: the server may have been updated.
        </p>
      );
    return loaded === null ? null : h(loaded, props);
  };
};
