import { fingerprint } from './policy-folder.ts';

/** How often a folder is looked at, in milliseconds: while nothing changes, and from a change until it is done with. */
const POLL = 250;
const POLL_CHANGED = 100;

/** How long a folder has to be unchanged before it is read, in milliseconds. */
const STILL = 300;

/** How long a state that was not done with is left alone, in milliseconds. */
const RETRY_MILLIS = 1000;

/** Something that is going on until it is closed. */
interface FolderWatch {
  /** Stops. Nothing is called any more. */
  close(): void;
}

/**
 * Calls back each time a folder has changed and then been still for 300 ms, and once at the start. The
 * folder is polled, so replacing it by rename or through a link is a change like any other. A change
 * during the call is followed by another call.
 * @param onStill Gets how long the folder has been still, in ms. Returns true when it is done with this
 *   state, false to be called again a second later, or the time in ms for which the folder must be still
 *   before the next call.
 */
export function watchStill(
  folder: string,
  onStill: (stillMillis: number) => Promise<boolean | number>,
): FolderWatch {
  let handled: string | undefined;
  let seen: string | undefined;
  let changed = 0;
  let due = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    const now = await fingerprint(folder);
    if (closed) return;
    if (now !== seen) {
      seen = now;
      changed = performance.now();
      due = changed + STILL;
    } else if (now !== handled && performance.now() >= due) {
      const answer = await onStill(performance.now() - changed);
      if (answer === true) handled = now;
      else due = answer === false ? performance.now() + RETRY_MILLIS : changed + answer;
    }
  };
  const next = (): void => {
    if (closed) return;
    const isStill = handled !== undefined && seen === handled;
    timer = setTimeout(() => void look().finally(next), isStill ? POLL : POLL_CHANGED);
    timer.unref();
  };
  next();
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}
