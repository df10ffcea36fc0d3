import { fingerprint } from './policy-folder.ts';

/** How often a folder is looked at, in milliseconds. */
const POLL = 100;

/** How long a folder has to be unchanged before it is read, in milliseconds. */
const STILL = 300;

/** How long a state that was not done with is left alone, in milliseconds. */
const AGAIN = 1000;

/** Something that is going on until it is closed. */
export interface Watch {
  /** Stops. Nothing is called any more. */
  close(): void;
}

/**
 * Calls back each time a folder has changed and then been still for 300 ms,
 * and once at the start. It looks instead of listening, so replacing the
 * folder by rename or through a link is a change like any other. A change
 * during the call is followed by another call.
 * @param onStill Answers whether it is done with this state; otherwise it is called again a second later.
 */
export function watchStill(folder: string, onStill: () => Promise<boolean>): Watch {
  let handled: string | undefined;
  let seen: string | undefined;
  let due = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    const now = await fingerprint(folder);
    if (closed) return;
    if (now !== seen) {
      seen = now;
      due = performance.now() + STILL;
    } else if (now !== handled && performance.now() >= due) {
      if (await onStill()) handled = now;
      else due = performance.now() + AGAIN;
    }
  };
  const next = (): void => {
    if (closed) return;
    timer = setTimeout(() => void look().finally(next), POLL);
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
