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

/** What was signed before checkpoints named the start of their instance. */
const FIRST_PURPOSE = 'arrowgate audit checkpoint 1';
const PURPOSE = 'arrowgate audit checkpoint 2';

/** Signed: so far had the chain of an instance come at a time. */
export interface Checkpoint {
  readonly instance: string;
  /** Records of the chain so far. */
  readonly count: bigint;
  /** The hash of the last of them. */
  readonly hash: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
  /** Digest of the statement that the instance made at its start; empty where it made none. */
  readonly start: string;
  /** The instance that signed what survived, after this one had ended without a signed head; empty otherwise. */
  readonly recovered: string;
  /** Id of the key. */
  readonly key: string;
  readonly signature: string;
}

/** The fields of a checkpoint besides the head. */
export type CheckpointDetails = Pick<Checkpoint, 'start' | 'recovered'>;

const noDetails: CheckpointDetails = { start: '', recovered: '' };

/** Signs a checkpoint of now. */
export function checkpointText(
  key: SigningKey,
  instance: string,
  { count, hash }: ChainHead,
  { start, recovered }: CheckpointDetails = noDetails,
): string {
  const time = new Date().toISOString();
  return signedText(key, PURPOSE, { instance, count, hash, time, start, recovered });
}

/** Reads a checkpoint; nothing of it is believed yet. @throws StatementFault */
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
