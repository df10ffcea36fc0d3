import { codeMemory, type CodeMemory } from './code-kernels.ts';
import { centreFloats, type CodeShape } from './code-layout.ts';

/** Points in one array, each of `floats` numbers. */
export interface Points {
  readonly floats: number;
  readonly values: Float32Array;
}

/** Rounds of k-means. */
const ROUNDS = 6;
/** Groups of centres that are compared with a point, after the centres of all groups. */
const GROUPS = 3;
/** Points between two calls of `turn`. */
const POINTS_AT_ONCE = 256;

/** Compares points with centres in one memory, which is made once: each takes much of the address space. */
class CentreFinder {
  readonly #memory: CodeMemory;
  readonly #floats: number;
  readonly #point: Float32Array;
  readonly #distances: Float32Array;
  readonly #centres: Float32Array;
  readonly #place: number;
  readonly #out: number;

  /** @param most Number of centres. */
  constructor(floats: number, most: number) {
    this.#floats = floats;
    this.#out = 4 * floats;
    this.#place = this.#out + 4 * padded(most);
    this.#memory = codeMemory(this.#place + 4 * floats * padded(most + 4));
    const { buffer } = this.#memory;
    this.#point = new Float32Array(buffer, 0, floats);
    this.#distances = new Float32Array(buffer, this.#out, padded(most));
    this.#centres = new Float32Array(buffer, this.#place, floats * most);
  }

  /** @param first The number of the first one. */
  bring(centres: Float32Array, first = 0): void {
    this.#centres.set(centres, first * this.#floats);
  }

  /** Squared distances of a point to some centres, from one on; valid until the next call. */
  distances(point: ArrayLike<number>, first: number, count: number): Float32Array {
    this.#point.set(point);
    const place = this.#place + 4 * this.#floats * first;
    this.#memory.kernels.squares(0, place, padded(count), this.#floats, this.#out);
    return this.#distances;
  }
}

/** The kernel compares with four centres at once. */
function padded(count: number): number {
  return 4 * Math.ceil(count / 4);
}

function leastAt(values: Float32Array, count: number): number {
  let least = 0;
  for (let at = 1; at < count; at++) if (values[at]! < values[least]!) least = at;
  return least;
}

/**
 * Centres in two levels: groups, each with some of the centres. A point is compared with the centres
 * of the nearest groups only, so its centre may not be the nearest of all.
 */
export class Centres {
  /** The centres, group by group. */
  readonly values: Float32Array;
  readonly count: number;
  readonly #groups: number;
  /** Has the groups, and then the centres. */
  readonly #finder: CentreFinder;
  /** First centre of each group; at the end the number of centres. */
  readonly #starts: Uint32Array;
  readonly #floats: number;

  constructor(floats: number, groups: readonly Float32Array[], parts: readonly Float32Array[]) {
    this.#floats = floats;
    this.#groups = groups.length;
    this.count = parts.reduce((sum, { length }) => sum + length / floats, 0);
    this.values = new Float32Array(this.count * floats);
    this.#starts = new Uint32Array(parts.length + 1);
    for (const [at, part] of parts.entries()) {
      const start = this.#starts[at]!;
      this.values.set(part, start * floats);
      this.#starts[at + 1] = start + part.length / floats;
    }
    this.#finder = new CentreFinder(floats, this.#groups + this.count);
    for (const [at, group] of groups.entries()) this.#finder.bring(group, at);
    this.#finder.bring(this.values, this.#groups);
  }

  /** The centre with a number. */
  at(centre: number): Float32Array {
    return this.values.subarray(centre * this.#floats, (centre + 1) * this.#floats);
  }

  /** Number of a centre near a point. */
  near(point: ArrayLike<number>): number {
    const groups = this.#groups;
    const apart = this.#finder.distances(point, 0, groups).slice(0, groups);
    let best = 0;
    let least = Infinity;
    for (let round = 0; round < Math.min(GROUPS, groups); round++) {
      const group = leastAt(apart, groups);
      apart[group] = Infinity;
      const start = this.#starts[group]!;
      const count = this.#starts[group + 1]! - start;
      const found = this.#finder.distances(point, groups + start, count);
      const at = leastAt(found, count);
      if (found[at]! >= least) continue;
      best = start + at;
      least = found[at]!;
    }
    return best;
  }
}

/**
 * Trains about a number of centres by k-means: groups of points first, then the centres of each, as
 * many as its share of the points.
 * @param turn Awaited now and then; its errors stop the training.
 */
export async function trainCentres(
  shape: CodeShape,
  values: Float32Array,
  count: number,
  turn: () => Promise<void>,
): Promise<Centres> {
  const floats = centreFloats(shape);
  const points = { floats, values: values.length === 0 ? new Float32Array(floats) : values };
  const all = Uint32Array.from({ length: points.values.length / floats }, (_, at) => at);
  const training = { points, finder: new CentreFinder(floats, all.length), turn };
  const groups = await train(training, all, Math.ceil(Math.sqrt(count)));
  const owners = await ownersOf(training, all, groups);
  const parts: Float32Array[] = [];
  const used: Float32Array[] = [];
  for (let group = 0; group < groups.length / floats; group++) {
    const members = all.filter((at) => owners[at] === group);
    if (members.length === 0) continue;
    const share = Math.max(1, Math.round((count * members.length) / all.length));
    parts.push(await train(training, members, share));
    used.push(groups.subarray(group * floats, (group + 1) * floats));
  }
  return new Centres(floats, used, parts);
}

/** What a training works with. */
interface Training {
  readonly points: Points;
  /** Has room for all points. */
  readonly finder: CentreFinder;
  readonly turn: () => Promise<void>;
}

/** For each of some points the nearest centre. */
async function ownersOf(
  { points: { floats, values }, finder, turn }: Training,
  members: Uint32Array,
  centres: Float32Array,
): Promise<Uint32Array> {
  const count = centres.length / floats;
  finder.bring(centres);
  const owners = new Uint32Array(members.length);
  for (const [at, member] of members.entries()) {
    const point = values.subarray(member * floats, (member + 1) * floats);
    owners[at] = leastAt(finder.distances(point, 0, count), count);
    if (at % POINTS_AT_ONCE === 0) await turn();
  }
  return owners;
}

/** Centres of some points, by rounds of k-means. */
async function train(
  training: Training,
  members: Uint32Array,
  most: number,
): Promise<Float32Array> {
  const centres = await firstCentres(training, members, Math.min(most, members.length));
  for (let round = 0; round < ROUNDS; round++) {
    const owners = await ownersOf(training, members, centres);
    moveCentres(training.points, members, owners, centres);
  }
  return centres;
}

/** Chooses points, each with a chance in proportion to its squared distance from those before it (k-means++). */
async function firstCentres(
  { points: { floats, values }, finder, turn }: Training,
  members: Uint32Array,
  count: number,
): Promise<Float32Array> {
  const centres = new Float32Array(count * floats);
  const pointOf = (at: number) =>
    values.subarray(members[at]! * floats, (members[at]! + 1) * floats);
  for (const at of members.keys()) finder.bring(pointOf(at), at);
  const apart = new Float32Array(members.length).fill(Infinity);
  let chosen = 0;
  for (let centre = 0; centre < count; centre++) {
    centres.set(pointOf(chosen), centre * floats);
    const found = finder.distances(pointOf(chosen), 0, members.length);
    for (let at = 0; at < apart.length; at++) if (found[at]! < apart[at]!) apart[at] = found[at]!;
    chosen = chosenBy(apart, numberAt(centre));
    await turn();
  }
  return centres;
}

/** The first place at which the sum of values exceeds a part of the whole sum. */
function chosenBy(values: Float32Array, part: number): number {
  let left = part * values.reduce((sum, value) => sum + value, 0);
  for (let at = 0; at < values.length; at++) {
    left -= values[at]!;
    if (left < 0) return at;
  }
  return 0;
}

/** A number below 1, evenly distributed over places: multiples of the golden ratio. */
function numberAt(place: number): number {
  return ((place + 1) * 0.618_033_988_749_894_9) % 1;
}

/** Moves each centre to the mean of its points; one without points to a point of the largest. */
function moveCentres(
  { floats, values }: Points,
  members: Uint32Array,
  owners: Uint32Array,
  centres: Float32Array,
): void {
  const count = centres.length / floats;
  const sums = new Float64Array(centres.length);
  const sizes = new Uint32Array(count);
  for (const [at, member] of members.entries()) {
    const owner = owners[at]!;
    sizes[owner]! += 1;
    const [from, to] = [member * floats, owner * floats];
    for (let place = 0; place < floats; place++) sums[to + place]! += values[from + place]!;
  }
  const left = sizes.slice();
  for (let centre = 0; centre < count; centre++) {
    const start = centre * floats;
    if (sizes[centre] === 0) {
      const largest = left.indexOf(left.reduce((most, size) => Math.max(most, size), 0));
      left[largest] = 0;
      const member = members[owners.indexOf(largest)];
      if (member === undefined) continue;
      centres.set(values.subarray(member * floats, (member + 1) * floats), start);
      continue;
    }
    for (let place = 0; place < floats; place++) {
      centres[start + place] = sums[start + place]! / sizes[centre]!;
    }
  }
}
