const sizeFactors: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

const durationFactors: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Bytes of a size such as `64MiB` or `1000`, or undefined if the text is none. */
export function parseSize(text: string): number | undefined {
  return scaled(/^(\d+) ?(B|KiB|MiB|GiB|TiB|)$/.exec(text), sizeFactors);
}

/** Longest period that is accepted, in ms: dates that far away are still valid. */
export const LONGEST_MILLIS = 365_250 * 86_400_000;

/** Milliseconds of a duration such as `300s`, `15m`, `24h`, `400d` or `500ms`, or undefined if the text is none. */
export function parseDuration(text: string): number | undefined {
  return scaled(/^(\d+) ?(ms|s|m|h|d)$/.exec(text), durationFactors);
}

function scaled(
  match: RegExpExecArray | null,
  factors: Readonly<Record<string, number>>,
): number | undefined {
  const factor = factors[match?.[2] ?? ''];
  if (match === null || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}
