import type { Centres } from './centres.ts';
import type { CodeDirectory } from './code-file.ts';
import { codeMemory, type CodeMemory } from './code-kernels.ts';
import { SCRATCH, type CodeLayout } from './code-layout.ts';
import { searchPartition } from './code-search.ts';
import { encodeQuery, isPlain, type EncodedQuery } from './encoded-query.ts';
import { NearestRows } from './nearest-rows.ts';
import { nearCentres, NEAREST, spreadFor, viewOf } from './partition-order.ts';
import { weightsOf } from './vector-encoder.ts';

/** Share of these rows that it has to find. */
const SHARE = 0.99;
/** Tolerated deviation of 1-bit estimates, and the usual sine between vectors and their bits. */
const ERRORS = 2;
const USUAL_SINE = 0.65;
/** Partitions and rows are numbered together. */
const PARTITION = 2 ** 32;

/** A partition's rows that were encoded together. */
interface EncodedPortion {
  readonly bytes: Uint8Array;
  readonly layout: CodeLayout;
  readonly partition: number;
  readonly inner: number;
  readonly radius: number;
  readonly step: number;
}

/**
 * Measures the spread of a file: searches for the rows near some of its own vectors in all portions,
 * and determines with which spread the partitions of these rows would have been searched.
 */
export class SpreadTest {
  readonly #directory: CodeDirectory;
  readonly #centres: Centres;
  readonly #queries: readonly (ReturnType<typeof queryOf> & object)[];
  readonly #inner: Float64Array;
  readonly #radii: Float64Array;
  #memory: CodeMemory | undefined;

  constructor(
    header: Omit<CodeDirectory, 'portions'>,
    centres: Centres,
    samples: readonly { readonly row: number; readonly vector: Float32Array }[],
  ) {
    const partitions = { count: centres.count, checksum: 0, spreads: [] };
    const directory = { ...header, error: USUAL_SINE, portions: [], partitions };
    this.#directory = directory;
    this.#centres = centres;
    this.#inner = new Float64Array(centres.count).fill(Infinity);
    this.#radii = new Float64Array(centres.count);
    this.#queries = samples.flatMap((sample) => queryOf(sample, directory) ?? []);
  }

  /** Searches a portion. */
  add({ bytes, layout, partition, inner, radius, step }: EncodedPortion): void {
    const memory = this.#memoryOf(SCRATCH.bytes + bytes.length);
    new Uint8Array(memory.buffer).set(bytes, SCRATCH.bytes);
    this.#radii[partition] = Math.max(this.#radii[partition]!, radius);
    this.#inner[partition] = Math.min(this.#inner[partition]!, inner);
    const portion = { number: 0, place: SCRATCH.bytes, first: 0, layout };
    const centre = this.#centres.at(partition);
    const own = { centre, inner, radius, step, squared: 0, portions: [portion] };
    const codes = { directory: this.#directory, memory, centres: null, loaded: new Uint8Array(1) };
    for (const { query, nearest } of this.#queries) {
      const search = { query, errors: ERRORS, may: null, nearest, first: partition * PARTITION };
      searchPartition({ ...codes, partitions: [own] }, own, search);
    }
  }

  /** For each of `NEAREST`, the spread with which nearly all of these rows are found. Ends the test. */
  spreads(): readonly number[] {
    const needed: readonly number[][] = NEAREST.map(() => []);
    for (const { query, row, nearest } of this.#queries) {
      const { positions, distances } = nearest.found();
      const others = [...positions.keys()].filter((at) => positions[at]! % PARTITION !== row);
      const spreadFor = this.#spreadsOf(query);
      for (const [kind, count] of NEAREST.entries()) {
        const last = others[Math.min(count, others.length) - 1];
        if (last === undefined) continue;
        for (const at of others.slice(0, count)) {
          const partition = Math.floor(positions[at]! / PARTITION);
          needed[kind]!.push(spreadFor(partition, distances[last]!));
        }
      }
    }
    return needed.map(shareOf);
  }

  /** The spread with which a query would search a partition for rows below a distance. */
  #spreadsOf(query: EncodedQuery): (partition: number, limit: number) => number {
    const weights = weightsOf(this.#directory.distance);
    const { count } = this.#centres;
    const squares = Float64Array.from({ length: count }, (_, at) => this.#squares(query, at));
    const views = Array.from(squares, (apart, at) => {
      const centre = this.#centres.at(at);
      const squared = centre.reduce((sum, value) => sum + value * value, 0);
      const own = { inner: this.#inner[at]!, radius: this.#radii[at]!, squared };
      return viewOf(query, weights.square, own, apart);
    });
    const always = nearCentres(Float64Array.from(views, ({ distance }) => distance));
    return (partition, limit) => {
      const view = views[partition]!;
      return view.distance <= always ? 0 : spreadFor(view, weights, limit);
    };
  }

  #squares({ vector }: EncodedQuery, partition: number): number {
    const centre = this.#centres.at(partition);
    let sum = 0;
    for (let at = 0; at < vector.length; at++) sum += (vector[at]! - centre[at]!) ** 2;
    return sum;
  }

  #memoryOf(bytes: number): CodeMemory {
    if (this.#memory === undefined || this.#memory.buffer.byteLength < bytes) {
      this.#memory = codeMemory(2 * bytes);
    }
    return this.#memory;
  }
}

function queryOf(
  { row, vector }: { readonly row: number; readonly vector: Float32Array },
  directory: CodeDirectory,
) {
  if (!isPlain(vector, directory.distance)) return null;
  const nearest = new NearestRows(NEAREST[1] + 1, { lower: null, upper: null });
  return { row, query: encodeQuery(vector, directory), nearest };
}

/** The value that a share of all does not exceed; 1 for none. */
function shareOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.ceil(SHARE * sorted.length) - 1] ?? 1;
}
