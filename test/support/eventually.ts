import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 600;
const PAUSE_MILLIS = 50;

/** Checks again and again until it holds; half a minute of failures is the last one's. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await check();
    } catch (error) {
      if (attempt === TRIES) throw error;
      await sleep(PAUSE_MILLIS);
    }
  }
}
