import { countOf, rowAt, type Rows } from './rows.ts';

/** Some rows of a batch, and how many rows were kept before them. */
interface Stretch {
  readonly start: number;
  /** Position in the table of the batch's first row. */
  readonly offset: number;
  readonly rows: Rows;
}

/**
 * Where the rows that a scan kept lie in their table, by how many were kept
 * before them. Rows that follow each other take no memory.
 */
export class KeptPositions {
  readonly #stretches: Stretch[] = [];
  #count = 0;
  #isAll = true;

  /** Adds the next rows of the scan. @param offset Position in the table of the batch's first row. */
  add(offset: number, rows: Rows): void {
    const isNext = rows.kind === 'stretch' && offset + rows.start === this.#count;
    this.#isAll &&= isNext;
    this.#stretches.push({ start: this.#count, offset, rows });
    this.#count += countOf(rows);
  }

  /** The positions of rows that are known by their numbers among those kept. */
  of(kept: Uint32Array): Float64Array {
    if (this.#isAll) return Float64Array.from(kept);
    const positions = new Float64Array(kept.length);
    for (let at = 0; at < kept.length; at++) positions[at] = this.#position(kept[at]!);
    return positions;
  }

  #position(kept: number): number {
    const { start, offset, rows } = this.#stretches[this.#find(kept)]!;
    return offset + rowAt(rows)(kept - start);
  }

  #find(kept: number): number {
    let low = 0;
    let high = this.#stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#stretches[middle]!.start <= kept) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
