import type { ChainHead } from '../chain/hash-chain.ts';
import {
  statementFields,
  integerIn,
  isSignedBy,
  signedText,
  signingInput,
  textIn,
} from '../signing/statement.ts';
import type { PublicKey, SigningKey } from '../signing/keys.ts';

/** Purpose of checkpoints without the start of their instance. */
const FIRST_PURPOSE = 'arrowgate audit checkpoint 1';
const PURPOSE = 'arrowgate audit checkpoint 2';

/** A signed head of an instance's chain. */
export interface Checkpoint {
  readonly instance: string;
  /** Number of records up to the head. */
  readonly count: bigint;
  /** Hash of the last record. */
  readonly hash: string;
  /** Time of the signature: RFC 3339 in UTC. */
  readonly time: string;
  /** Digest of the instance's start statement; empty if there is none. */
  readonly start: string;
  /** Instance that signed this head after a crash of the checkpoint's own; empty otherwise. */
  readonly recovered: string;
  /** Id of the key. */
  readonly key: string;
  readonly signature: string;
}

/** The fields of a checkpoint besides the head. */
type CheckpointDetails = Pick<Checkpoint, 'start' | 'recovered'>;

const noDetails: CheckpointDetails = { start: '', recovered: '' };

/** Signs a checkpoint with the current time. */
export function checkpointText(
  key: SigningKey,
  instance: string,
  { count, hash }: ChainHead,
  { start, recovered }: CheckpointDetails = noDetails,
): string {
  const time = new Date().toISOString();
  return signedText(key, PURPOSE, { instance, count, hash, time, start, recovered });
}

/** Parses a checkpoint without verifying it. @throws StatementFault */
export function parseCheckpoint(text: string): Checkpoint {
  const fields = statementFields(text);
  return {
    instance: textIn(fields, 'instance'),
    count: integerIn(fields, 'count'),
    hash: textIn(fields, 'hash'),
    time: textIn(fields, 'time'),
    start: 'start' in fields ? textIn(fields, 'start') : '',
    recovered: 'recovered' in fields ? textIn(fields, 'recovered') : '',
    key: textIn(fields, 'key'),
    signature: textIn(fields, 'signature'),
  };
}

/** Whether one of the keys signed it. */
export function isCheckpointSigned(checkpoint: Checkpoint, keys: readonly PublicKey[]): boolean {
  const { instance, count, hash, time, start, recovered } = checkpoint;
  const head = [instance, count, hash, time];
  const isPlain = start === '' && recovered === '';
  return (
    isSignedBy(keys, checkpoint, signingInput(PURPOSE, [...head, start, recovered])) ||
    (isPlain && isSignedBy(keys, checkpoint, signingInput(FIRST_PURPOSE, head)))
  );
}
