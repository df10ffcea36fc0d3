/** The row ids of a batch: they follow the first, or each stands for itself. */
export type RowIds =
  | { readonly kind: 'range'; readonly first: bigint }
  | { readonly kind: 'list'; readonly ids: BigUint64Array };

/**
 * A first number and some rows counted from it. Two words each (little-endian,
 * as all of Arrow here): a bigint for each row is ten times slower.
 * @param rowAt The row that stands at a place of the result.
 */
export function countedFrom(
  first: bigint,
  count: number,
  rowAt: (place: number) => number,
): BigUint64Array {
  const ids = new BigUint64Array(count);
  const words = new Uint32Array(ids.buffer);
  const low = Number(BigInt.asUintN(32, first));
  const high = Number(first >> 32n);
  for (let place = 0; place < count; place++) {
    const sum = low + rowAt(place);
    words[2 * place] = sum;
    words[2 * place + 1] = high + Math.floor(sum / 2 ** 32);
  }
  return ids;
}

/** The ids of some rows of a batch. */
export function idsOf(
  rowIds: RowIds,
  count: number,
  rowAt: (place: number) => number,
): BigUint64Array {
  if (rowIds.kind === 'range') return countedFrom(rowIds.first, count, rowAt);
  const ids = new BigUint64Array(count);
  for (let place = 0; place < count; place++) ids[place] = rowIds.ids[rowAt(place)]!;
  return ids;
}
