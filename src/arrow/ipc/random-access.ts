/** Bytes that can be read anywhere. */
export interface RandomAccess {
  /** How many there are. */
  readonly size: number;
  /** The bytes of a range inside `size`. They must lie on an 8-byte boundary of their memory and not change later. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Synchronous variant of `read`, if available. */
  readNow?(offset: number, length: number): Uint8Array | undefined;
}

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Maximum gap, in bytes, that is read to save a request. */
const gapBytes = 16_384;

/** Reads ranges, one request for those that lie close together, and gives the bytes of each in their order. */
export async function readRanges(
  access: RandomAccess,
  ranges: readonly ByteRange[],
): Promise<Uint8Array[]> {
  const spans = joinRanges(ranges);
  const pieces = await Promise.all(
    spans.map(async ({ offset, length }) => await access.read(offset, length)),
  );
  return partsOf(ranges, spans, pieces);
}

/** Synchronous variant; undefined if not all ranges can be read synchronously. */
export function readRangesNow(
  access: RandomAccess,
  ranges: readonly ByteRange[],
): Uint8Array[] | undefined {
  if (access.readNow === undefined) return undefined;
  const spans = joinRanges(ranges);
  const pieces: Uint8Array[] = [];
  for (const { offset, length } of spans) {
    const piece = access.readNow(offset, length);
    if (piece === undefined) return undefined;
    pieces.push(piece);
  }
  return partsOf(ranges, spans, pieces);
}

function partsOf(
  ranges: readonly ByteRange[],
  spans: readonly ByteRange[],
  pieces: readonly Uint8Array[],
): Uint8Array[] {
  return ranges.map(({ offset, length }) => {
    if (length === 0) return new Uint8Array(0);
    const index = spans.findLastIndex((span) => span.offset <= offset);
    const start = offset - spans[index]!.offset;
    return pieces[index]!.subarray(start, start + length);
  });
}

/** The requests for some ranges, in the order of their offsets, each beginning on a multiple of 8. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const sorted = ranges.filter(({ length }) => length > 0).sort((a, b) => a.offset - b.offset);
  const spans: { offset: number; length: number }[] = [];
  for (const { offset, length } of sorted) {
    const start = offset - (offset % 8);
    const last = spans.at(-1);
    if (last !== undefined && start <= last.offset + last.length + gapBytes) {
      last.length = Math.max(last.length, offset + length - last.offset);
    } else {
      spans.push({ offset: start, length: offset + length - start });
    }
  }
  return spans;
}
