import { isCheckpointSigned, parseCheckpoint, type Checkpoint } from './checkpoint.ts';
import type { ReadCheckpoints } from './checkpoint-place.ts';
import type { PublicKey } from './signing-key.ts';
import { StatementFault } from './statement.ts';

/** The checkpoints of all places that one of the keys signed. */
export class Vouchers {
  readonly #byInstance: ReadonlyMap<string, readonly Checkpoint[]>;
  /** The keys whose signatures count. */
  readonly keys: readonly PublicKey[];
  /** Checkpoints that do not count, and why. */
  readonly notes: readonly string[];

  constructor(
    checkpoints: readonly Checkpoint[],
    keys: readonly PublicKey[],
    notes: readonly string[],
  ) {
    this.#byInstance = grouped(checkpoints.toSorted(byCount));
    this.keys = keys;
    this.notes = notes;
  }

  /** Instances of which there is a checkpoint. */
  get instances(): readonly string[] {
    return [...this.#byInstance.keys()];
  }

  /** The checkpoints of an instance, in the order of their counts. */
  of(instance: string): readonly Checkpoint[] {
    return this.#byInstance.get(instance) ?? [];
  }
}

/** Reads the checkpoints of the places. A place that cannot be read rejects. */
export async function readVouchers(
  places: readonly ReadCheckpoints[],
  keys: readonly PublicKey[],
): Promise<Vouchers> {
  const good: Checkpoint[] = [];
  const notes: string[] = [];
  for (const place of places) {
    const strange: Checkpoint[] = [];
    for (const text of await place.all()) {
      const read = checkpointIn(text);
      if (typeof read === 'string') notes.push(`${place.name}: ${read}`);
      else if (isCheckpointSigned(read, keys)) good.push(read);
      else strange.push(read);
    }
    for (const some of grouped(strange).values()) notes.push(`${place.name}: ${unsigned(some)}`);
  }
  return new Vouchers(good, keys, notes);
}

function checkpointIn(text: string): Checkpoint | string {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    if (error instanceof StatementFault) return error.message;
    throw error;
  }
}

/** A place has as many checkpoints of an instance as it has seconds: one sentence for all of them. */
function unsigned(checkpoints: readonly Checkpoint[]): string {
  const sorted = checkpoints.toSorted(byCount);
  const [{ instance, count }, last] = [sorted[0]!, sorted.at(-1)!];
  return sorted.length === 1
    ? `the checkpoint of ${instance} at ${count} was signed by none of the keys`
    : `${sorted.length} checkpoints of ${instance}, at ${count} to ${last.count}, were signed by none of the keys`;
}

function grouped(checkpoints: readonly Checkpoint[]): ReadonlyMap<string, readonly Checkpoint[]> {
  const groups = new Map<string, Checkpoint[]>();
  for (const checkpoint of checkpoints) {
    const group = groups.get(checkpoint.instance);
    if (group === undefined) groups.set(checkpoint.instance, [checkpoint]);
    else group.push(checkpoint);
  }
  return groups;
}

function byCount(one: Checkpoint, other: Checkpoint): number {
  if (one.count === other.count) return 0;
  return one.count < other.count ? -1 : 1;
}
