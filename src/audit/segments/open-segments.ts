import { openSegment, type OpenSegment } from './segment-file.ts';

/** A kept segment is opened anew after this time, so that damage of its bytes is found, in ms. */
const KEPT_MILLIS = 60_000;

interface Kept {
  readonly segment: OpenSegment;
  readonly portions: string | undefined;
  readonly since: number;
}

/** Segments that no reader uses, by their paths, the one that was used last at the end. */
const kept = new Map<string, Kept>();
/** Segments whose times of opening are known. */
const opened = new WeakMap<OpenSegment, Kept>();
let most = 0;

/**
 * Keeps segments open after their reader has closed them: a sealed segment does not change, and its footer,
 * its dictionaries and the comparison with its checksums cost more than a search of its columns.
 * @param count Maximum number of segments of this thread; none before the first call.
 */
export function keepSegmentsOpen(count: number): void {
  most = count;
}

/** A segment for one reader, which ends with `endSegment`. @throws as `openSegment` */
export async function beginSegment(path: string, portions?: string): Promise<OpenSegment> {
  const before = kept.get(path);
  kept.delete(path);
  if (before !== undefined && isUsable(before, portions)) return before.segment;
  before?.segment.close();
  const segment = await openSegment(path, portions);
  opened.set(segment, { segment, portions, since: performance.now() });
  return segment;
}

function isUsable({ portions, since }: Kept, wanted: string | undefined): boolean {
  return portions === wanted && performance.now() - since < KEPT_MILLIS;
}

/** Keeps a segment for the next reader, or closes it. */
export function endSegment(path: string, segment: OpenSegment): void {
  const state = opened.get(segment);
  if (most === 0 || state === undefined || kept.has(path)) {
    segment.close();
    return;
  }
  segment.scratch.release();
  kept.set(path, state);
  for (const [oldest, { segment: unused }] of kept) {
    if (kept.size <= most) return;
    kept.delete(oldest);
    unused.close();
  }
}
