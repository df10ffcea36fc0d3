import { CheckpointFault, isSigned, parseCheckpoint, type SignedCheckpoint } from './checkpoint.ts';
import type { CheckpointPlace } from './checkpoint-place.ts';
import type { PublicKey } from './signing-key.ts';

/** The checkpoints of all places that one of the keys signed. */
export class Vouchers {
  readonly #byInstance: ReadonlyMap<string, readonly SignedCheckpoint[]>;
  /** Checkpoints that do not count, and why. */
  readonly notes: readonly string[];

  constructor(checkpoints: readonly SignedCheckpoint[], notes: readonly string[]) {
    this.#byInstance = grouped(checkpoints.toSorted(byCount));
    this.notes = notes;
  }

  /** Instances of which there is a checkpoint. */
  get instances(): readonly string[] {
    return [...this.#byInstance.keys()];
  }

  /** The checkpoints of an instance, in the order of their counts. */
  of(instance: string): readonly SignedCheckpoint[] {
    return this.#byInstance.get(instance) ?? [];
  }
}

/** Reads the checkpoints of the places. A place that cannot be read rejects. */
export async function readVouchers(
  places: readonly CheckpointPlace[],
  keys: readonly PublicKey[],
): Promise<Vouchers> {
  const good: SignedCheckpoint[] = [];
  const notes: string[] = [];
  for (const place of places) {
    for (const text of await place.all()) {
      const read = trusted(text, keys);
      if (typeof read === 'string') notes.push(`${place.name}: ${read}`);
      else good.push(read);
    }
  }
  return new Vouchers(good, notes);
}

function trusted(text: string, keys: readonly PublicKey[]): SignedCheckpoint | string {
  try {
    const checkpoint = parseCheckpoint(text);
    if (isSigned(checkpoint, keys)) return checkpoint;
    const { instance, count } = checkpoint;
    return `the checkpoint of ${instance} at ${count} was signed by none of the keys`;
  } catch (error) {
    if (error instanceof CheckpointFault) return error.message;
    throw error;
  }
}

function grouped(
  checkpoints: readonly SignedCheckpoint[],
): ReadonlyMap<string, readonly SignedCheckpoint[]> {
  const groups = new Map<string, SignedCheckpoint[]>();
  for (const checkpoint of checkpoints) {
    const group = groups.get(checkpoint.instance);
    if (group === undefined) groups.set(checkpoint.instance, [checkpoint]);
    else group.push(checkpoint);
  }
  return groups;
}

function byCount(one: SignedCheckpoint, other: SignedCheckpoint): number {
  if (one.count === other.count) return 0;
  return one.count < other.count ? -1 : 1;
}
