import type { Output } from './output.ts';

/** A watcher is told at most so often, in milliseconds. */
const PAUSE_MILLIS = 500;

/** What long work is given to tell what it is doing: nothing where nobody watches. */
export function progressOf(output: Output): { progress?: (doing: string) => void } {
  if (!output.watched) return {};
  let last = 0;
  return {
    progress: (doing) => {
      const now = Date.now();
      if (now - last < PAUSE_MILLIS) return;
      last = now;
      output.note(doing);
    },
  };
}
