import type { AuditFinding, Tampering } from './finding.ts';
import { isCheckpointSigned, parseCheckpoint, type Checkpoint } from './checkpoint.ts';
import type { CheckpointSource } from './places.ts';
import type { PublicKey } from '../signing/keys.ts';
import { StatementFault } from '../signing/statement.ts';

/** A place from which checkpoints were read. */
export interface QueriedPlace {
  readonly name: string;
  readonly checkpoints: number;
}

/** Checkpoints of all places with a valid signature of one of the keys. */
export class TrustedCheckpoints {
  readonly #byInstance: ReadonlyMap<string, readonly Checkpoint[]>;
  readonly keys: readonly PublicKey[];
  /** Faults of checkpoints: an unknown key, or a checkpoint or place that cannot be read. */
  readonly findings: readonly AuditFinding[];
  /** Number of trusted checkpoints of each place. */
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

  /** Instances with a checkpoint. */
  get instances(): readonly string[] {
    return [...this.#byInstance.keys()];
  }

  /** Checkpoints of an instance in order of their counts. */
  of(instance: string): readonly Checkpoint[] {
    return this.#byInstance.get(instance) ?? [];
  }
}

/** Reads and verifies the checkpoints of places. A place that cannot be read is a finding. */
export async function readTrustedCheckpoints(
  places: readonly CheckpointSource[],
  keys: readonly PublicKey[],
): Promise<TrustedCheckpoints> {
  const trusted: Checkpoint[] = [];
  const findings: AuditFinding[] = [];
  const queried: QueriedPlace[] = [];
  for (const place of places) {
    const before = trusted.length;
    const unknown: Checkpoint[] = [];
    for (const text of await textsOf(place, findings)) {
      const read = checkpointIn(text);
      if (typeof read === 'string') findings.push(placeFinding(place.name, 'edited', read));
      else if (isCheckpointSigned(read, keys)) trusted.push(read);
      else unknown.push(read);
    }
    for (const some of grouped(unknown).values()) findings.push(unknownKey(place.name, some));
    queried.push({ name: place.name, checkpoints: trusted.length - before });
  }
  return new TrustedCheckpoints(trusted, keys, findings, queried);
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

/** One finding for all checkpoints of an instance: an anchor file may have thousands. */
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
