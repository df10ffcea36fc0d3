import type { ChainHead } from './chain.ts';
import { fieldsOf, integerIn, isSignedBy, signedText, statementOf, textIn } from './statement.ts';
import type { PublicKey, SigningKey } from './signing-key.ts';

const PURPOSE = 'arrowgate audit checkpoint 1';

/** Signed: so far had the chain of an instance come at a time. */
export interface Checkpoint {
  readonly instance: string;
  /** Records of the chain so far. */
  readonly count: bigint;
  /** The hash of the last of them. */
  readonly hash: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
  /** Id of the key. */
  readonly key: string;
  readonly signature: string;
}

/** Signs a checkpoint of now. */
export function checkpointText(key: SigningKey, instance: string, head: ChainHead): string {
  const time = new Date().toISOString();
  return signedText(key, PURPOSE, { instance, count: head.count, hash: head.hash, time });
}

/** Reads a checkpoint; nothing of it is believed yet. @throws StatementFault */
export function parseCheckpoint(text: string): Checkpoint {
  const fields = fieldsOf(text);
  return {
    instance: textIn(fields, 'instance'),
    count: integerIn(fields, 'count'),
    hash: textIn(fields, 'hash'),
    time: textIn(fields, 'time'),
    key: textIn(fields, 'key'),
    signature: textIn(fields, 'signature'),
  };
}

/** Whether one of the keys signed it. */
export function isCheckpointSigned(checkpoint: Checkpoint, keys: readonly PublicKey[]): boolean {
  const { instance, count, hash, time } = checkpoint;
  return isSignedBy(keys, checkpoint, statementOf(PURPOSE, [instance, count, hash, time]));
}
