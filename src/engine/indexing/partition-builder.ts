import type { MaybePromise } from '../../protocol/maybe-promise.ts';
import { trainCentres, type Centres } from '../index/vectors/centres.ts';
import type { CodeDirectory, CodeWriter, PartitionFacts } from '../index/vectors/code-file.ts';
import {
  codeLayout,
  partitionsFor,
  codesWithin,
  type CodeShape,
} from '../index/vectors/code-layout.ts';
import { SpreadTest } from '../index/vectors/spread-test.ts';
import { takeCodes } from '../index/vectors/take-codes.ts';
import type { VectorEncoder } from '../index/vectors/vector-encoder.ts';
import type { VectorSample } from '../index/vectors/vector-sample.ts';
import type { VectorValues } from '../index/vectors/vector-values.ts';

/** Vectors of the sample for each partition, and the least for one. */
const SAMPLE_OF_EACH = 64;
const LEAST_OF_EACH = 8;
/** Memory of codes before they are put into partitions, in bytes. */
const GROUP_BYTES = 2 ** 25;
/** Vectors whose nearest rows determine the spread. */
const TESTED = 48;

/** Number of vectors that the training of some partitions wants. */
export function sampleFor(partitions: number): number {
  return SAMPLE_OF_EACH * partitions;
}

/** What a file of partitions is made of. */
export interface PartitionParts {
  readonly shape: CodeShape;
  readonly encoder: VectorEncoder;
  readonly writer: CodeWriter;
  readonly sample: VectorSample;
  /** Rows of the fragment. */
  readonly rows: number;
  /** Awaited now and then; its errors stop the work. */
  readonly turn: () => Promise<void>;
}

/** Share of a partition's rows that may be nearer to the centre than its inner distance. */
const INNER = 0.02;
const NONE = 2 ** 32 - 1;

/**
 * Writes codes partition by partition. Rows are collected in groups of bounded size, and each group
 * becomes one portion of each partition.
 */
export class PartitionBuilder {
  readonly #parts: PartitionParts;
  readonly #centres: Centres;
  readonly #test: SpreadTest;
  readonly #groupRows: number;
  readonly #owners: Uint32Array;
  readonly #radii: Float32Array;
  #first = 0;

  private constructor(parts: PartitionParts, centres: Centres, test: SpreadTest) {
    this.#parts = parts;
    this.#centres = centres;
    this.#test = test;
    this.#groupRows = codesWithin(parts.shape, GROUP_BYTES, true);
    this.#owners = new Uint32Array(Math.min(this.#groupRows, parts.rows));
    this.#radii = new Float32Array(this.#owners.length);
    this.#begin();
  }

  /** Trains the centres. @param header What is known of the file before its rows are encoded. */
  static async train(
    parts: PartitionParts,
    header: Omit<CodeDirectory, 'portions'>,
  ): Promise<PartitionBuilder> {
    const { shape, encoder, sample, rows, turn } = parts;
    const points = sample.points(shape, encoder);
    const most = Math.max(1, Math.floor(sample.count / LEAST_OF_EACH));
    const centres = await trainCentres(
      shape,
      points,
      Math.min(partitionsFor(shape, rows), most),
      turn,
    );
    const test = new SpreadTest(header, centres, sample.some(TESTED));
    return new PartitionBuilder(parts, centres, test);
  }

  /** Encodes the vector of a row. Rows come in order. */
  add(vectors: VectorValues, from: number, row: number): MaybePromise<void> {
    if (row === this.#first + this.#groupRows) {
      return this.#flush().then(() => this.#encode(vectors, from, row));
    }
    return this.#encode(vectors, from, row);
  }

  /** Writes the last group and the centres. Returns what the directory says of partitions. */
  async finish(): Promise<PartitionFacts> {
    await this.#flush();
    const { count, values } = this.#centres;
    const checksum = await this.#parts.writer.centres(values);
    return { count, checksum, spreads: this.#test.spreads() };
  }

  #begin(): void {
    this.#parts.encoder.begin(
      Math.max(0, Math.min(this.#groupRows, this.#parts.rows - this.#first)),
    );
    this.#owners.fill(NONE);
  }

  #encode(vectors: VectorValues, from: number, row: number): void {
    const { encoder } = this.#parts;
    const vector = encoder.rotate(vectors, from);
    if (vector === null) return;
    const place = row - this.#first;
    const owner = this.#centres.near(vector);
    this.#owners[place] = owner;
    this.#radii[place] = encoder.write(place, this.#centres.at(owner));
  }

  async #flush(): Promise<void> {
    const { shape, encoder, writer, turn } = this.#parts;
    const bytes = encoder.end();
    const { places, starts } = this.#sorted();
    for (let partition = 0; partition < this.#centres.count; partition++) {
      const rows = places.subarray(starts[partition], starts[partition + 1]);
      if (rows.length === 0) continue;
      const taken = takeCodes(shape, bytes, rows, this.#first);
      const radii = Float32Array.from(rows, (row) => this.#radii[row]!).sort();
      const inner = radii[Math.floor(radii.length * INNER)]!;
      const radius = radii.at(-1)!;
      const facts = { rows: rows.length, partition, inner, radius, step: taken.step };
      await writer.part(taken.bytes, facts);
      this.#test.add({
        ...facts,
        bytes: taken.bytes,
        layout: codeLayout(shape, rows.length, true),
      });
      await turn();
    }
    this.#first += this.#groupRows;
    this.#begin();
  }

  /** The rows of the group by partition, each ascending. */
  #sorted() {
    const starts = new Uint32Array(this.#centres.count + 2);
    for (const owner of this.#owners) if (owner !== NONE) starts[owner + 2]! += 1;
    for (let at = 2; at < starts.length; at++) starts[at]! += starts[at - 1]!;
    const places = new Uint32Array(starts.at(-1)!);
    for (const [place, owner] of this.#owners.entries()) {
      if (owner !== NONE) places[starts[owner + 1]!++] = place;
    }
    return { places, starts };
  }
}
