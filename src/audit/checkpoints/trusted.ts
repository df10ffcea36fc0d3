import type { AuditFinding, Tampering } from './finding.ts';
import { isCheckpointSigned, parseCheckpoint, type Checkpoint } from './checkpoint.ts';
import type { CheckpointSource } from './places.ts';
import type { PublicKey } from '../signing/keys.ts';
import { StatementFault } from '../signing/statement.ts';

/** A place that was asked for checkpoints. */
export interface QueriedPlace {
  readonly name: string;
  readonly checkpoints: number;
}

/** The checkpoints of all places that one of the keys signed. */
export class TrustedCheckpoints {
  readonly #byInstance: ReadonlyMap<string, readonly Checkpoint[]>;
  /** The keys whose signatures count. */
  readonly keys: readonly PublicKey[];
  /** Checkpoints that do not count, and why: none of the keys signed them, or they cannot be read. */
  readonly findings: readonly AuditFinding[];
  /** How many checkpoints each place has that count. */
  readonly places: readonly QueriedPlace[];

  constructor(
    checkpoints: readonly Checkpoint[],
    keys: readonly PublicKey[],
    findings: readonly AuditFinding[],
    places: readonly QueriedPlace[],
  ) {
    this.#byInstance = grouped(checkpoints.toSorted(byCount));
    this.keys = keys;
    this.findings = findings;
    this.places = places;
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

/** Reads the checkpoints of the places. A place that cannot be read is a finding. */
export async function readTrustedCheckpoints(
  places: readonly CheckpointSource[],
  keys: readonly PublicKey[],
): Promise<TrustedCheckpoints> {
  const good: Checkpoint[] = [];
  const findings: AuditFinding[] = [];
  const asked: QueriedPlace[] = [];
  for (const place of places) {
    const before = good.length;
    const strange: Checkpoint[] = [];
    for (const text of await textsOf(place, findings)) {
      const read = checkpointIn(text);
      if (typeof read === 'string') findings.push(placeFinding(place.name, 'edited', read));
      else if (isCheckpointSigned(read, keys)) good.push(read);
      else strange.push(read);
    }
    for (const some of grouped(strange).values()) findings.push(unknownKey(place.name, some));
    asked.push({ name: place.name, checkpoints: good.length - before });
  }
  return new TrustedCheckpoints(good, keys, findings, asked);
}

async function textsOf(
  place: CheckpointSource,
  findings: AuditFinding[],
): Promise<readonly string[]> {
  try {
    return await place.all();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const text = `its checkpoints cannot be read, so nothing is compared with them: ${why}`;
    findings.push(placeFinding(place.name, 'not asked', text));
    return [];
  }
}

function placeFinding(place: string, kind: Tampering, text: string): AuditFinding {
  return { kind, instance: place, file: null, line: null, sequence: 0n, text };
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
function unknownKey(place: string, checkpoints: readonly Checkpoint[]): AuditFinding {
  const sorted = checkpoints.toSorted(byCount);
  const [{ instance, count, key }, last] = [sorted[0]!, sorted.at(-1)!];
  const which =
    sorted.length === 1
      ? `the checkpoint at ${count} in ${place} was`
      : `${sorted.length} checkpoints at ${count} to ${last.count} in ${place} were`;
  const text = `${which} signed by the unknown key ${key}: name it with --public-key, or link it with audit rotate-key, if it is yours`;
  return { kind: 'unknown key', instance, file: null, line: null, sequence: count, text };
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
