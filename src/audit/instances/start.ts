import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { instancesOf, logStorage, readBeside } from '../chain/log-files.ts';
import {
  statementFields,
  isSignedBy,
  signedText,
  signingInput,
  StatementFault,
  textIn,
} from '../signing/statement.ts';
import type { PublicKey, SigningKey } from '../signing/keys.ts';

const PURPOSE = 'arrowgate audit start 1';
/** Number of earlier instances that a start statement names. */
const NAMED = 64;
const SUFFIX = '.json';

/** Location of the checkpoints of an instance. */
export interface CheckpointLocation {
  /** `embedded`, or `redis:` and the catalog's name. */
  readonly store: string;
  /** Absolute path of the anchor file; empty without one. */
  readonly anchor: string;
}

/**
 * Start statement of an instance: the instances before it, and where its checkpoints are
 * stored. Each of its checkpoints names the digest of the statement.
 */
export interface InstanceStart extends CheckpointLocation {
  readonly instance: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
  /** Names of the newest earlier instances. */
  readonly earlier: readonly string[];
  /** Whether one of the keys signed the statement. */
  readonly trusted: boolean;
  /** SHA-256 of the statement, in base64url. */
  readonly digest: string;
}

export interface StartOptions extends CheckpointLocation {
  /** `<data>/private/audit-starts`. */
  readonly starts: string;
  /** `<data>/private/audit`. */
  readonly folder: string;
  readonly instance: string;
  readonly key: SigningKey;
}

/** Signs and writes the start statement of an instance, durably. @returns Its digest. */
export async function signStart(options: StartOptions): Promise<string> {
  const { starts, folder, instance, key, store, anchor } = options;
  const others = (await instancesOf(folder)).filter((name) => name !== instance);
  const earlier = others.slice(-NAMED).join(' ');
  const time = new Date().toISOString();
  const text = signedText(key, PURPOSE, { instance, time, earlier, store, anchor });
  await logStorage.folders.make(starts, 0o700);
  await logStorage.replace(join(starts, instance + SUFFIX), Buffer.from(text));
  return digestOf(text);
}

/** Start statements of all instances; one that cannot be parsed is not trusted. */
export async function readStarts(
  starts: string,
  keys: readonly PublicKey[],
): Promise<readonly InstanceStart[]> {
  const names = (await logStorage.names(starts)) ?? [];
  const found = names.filter((name) => name.endsWith(SUFFIX)).sort();
  return Promise.all(
    found.map(async (name) =>
      parseStart(name.slice(0, -SUFFIX.length), await readBeside(join(starts, name)), keys),
    ),
  );
}

/** Parses the start statement of an instance; one that cannot be parsed is not trusted. */
export function parseStart(
  instance: string,
  text: string,
  keys: readonly PublicKey[],
): InstanceStart {
  const digest = digestOf(text);
  try {
    const fields = statementFields(text);
    const [time, earlier] = [textIn(fields, 'time'), textIn(fields, 'earlier')];
    const [store, anchor] = [textIn(fields, 'store'), textIn(fields, 'anchor')];
    const [key, signature] = [textIn(fields, 'key'), textIn(fields, 'signature')];
    const statement = signingInput(PURPOSE, [instance, time, earlier, store, anchor]);
    const trusted = isSignedBy(keys, { key, signature }, statement);
    const names = earlier === '' ? [] : earlier.split(' ');
    return { instance, time, earlier: names, store, anchor, trusted, digest };
  } catch (error) {
    if (!(error instanceof StatementFault)) throw error;
    return { instance, time: '', earlier: [], store: '', anchor: '', trusted: false, digest };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
