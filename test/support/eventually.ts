import { setTimeout as sleep } from 'node:timers/promises';

/** Far longer than anything takes on a machine that does other work; below the timeout of a test. */
export const PATIENCE_MILLIS = 240_000;
const PAUSE_MILLIS = 20;

/**
 * Checks again and again until a check passes, and gives its result. Tests wait for what
 * happens by itself in this way alone.
 * @throws the error of the last check after four minutes of failures.
 */
export async function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  for (const until = Date.now() + PATIENCE_MILLIS; ; await sleep(PAUSE_MILLIS)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= until) throw error;
    }
  }
}

/**
 * Waits until a condition holds.
 * @throws Error when it does not within four minutes.
 */
export async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (!(await condition())) throw new Error(`it never came to be: ${condition.toString()}`);
  });
}
