import { randomOf, type Random } from '../../test/service/random.ts';
import { Workload } from '../../test/soak/workload.ts';
import type { RawSide } from '../data/raw-side.ts';
import { queryVector, rowsFrom } from '../data/rows.ts';

const SEED = 20;
/** Between two requests of a table of the small work, in ms. */
const PAUSE_MILLIS = 40;
const LARGE = 'aging';
const LARGE_ROWS = 50_000;
const MERGED_ROWS = 1000;
/** Appends until the large table is dropped and made again. */
const APPENDS = 8;

/** Small work on six tables as the soak test does it, beside large work on one more. */
export class MixedWork {
  readonly #small: Workload;
  readonly #side: RawSide;
  readonly #random: Random = randomOf(SEED);
  readonly #rows = rowsFrom(0, LARGE_ROWS);

  constructor(side: RawSide, url: string) {
    this.#side = side;
    this.#small = new Workload(url, randomOf(SEED));
  }

  /** Works until a moment. @throws Error for an answer that is none of success, and for missing rows. */
  async run(until: number): Promise<void> {
    await this.#small.begin();
    await Promise.all([this.#small.run(until, PAUSE_MILLIS), this.#large(until)]);
    await this.#small.verify();
    this.#small.close();
  }

  async #large(until: number): Promise<void> {
    while (Date.now() < until) {
      await this.#side.create(LARGE, this.#rows);
      for (let time = 1; time <= APPENDS && Date.now() < until; time++) {
        await this.#side.append(LARGE, rowsFrom(time * LARGE_ROWS, LARGE_ROWS));
        await this.#change(time);
        await this.#read();
      }
      await this.#side.drop(LARGE);
    }
  }

  async #change(time: number): Promise<void> {
    const first = this.#random(time * LARGE_ROWS);
    await this.#side.delete(LARGE, `id >= ${first} AND id < ${first + MERGED_ROWS}`);
    await this.#side.update(LARGE, `id = ${first + 2 * MERGED_ROWS}`, 'value', 'value + 1');
    await this.#side.merge(LARGE, rowsFrom(first, MERGED_ROWS));
  }

  async #read(): Promise<void> {
    await this.#side.count(LARGE, 'value < 0.1');
    await this.#side.filter(LARGE, 'value < 0.1', ['id', 'name']);
    await this.#side.nearest(LARGE, { vector: queryVector(this.#random(1000)) });
    await this.#side.ask(LARGE, 'query', {});
  }
}
