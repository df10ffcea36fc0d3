import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';

/** Where Linux tells a thread its own id (proc(5)). */
const OWN_THREAD = '/proc/thread-self';

/**
 * Lets everything else go before this thread where they need the same processor: requests
 * are waited for, what a thread of upkeep does is not. Elsewhere than on Linux it does nothing.
 */
export function yieldThread(): void {
  try {
    setPriority(
      Number(basename(readlinkSync(OWN_THREAD))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // It is as urgent as the rest then.
  }
}
