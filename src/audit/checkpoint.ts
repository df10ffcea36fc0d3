import { isJsonObject, parseJson, type JsonValue } from '../protocol/json.ts';
import type { ChainHead } from './chain.ts';
import type { PublicKey, SigningKey } from './signing-key.ts';

const PURPOSE = 'arrowgate audit checkpoint 1';

/** Says how far the chain of an instance had come at a time. */
export interface Checkpoint {
  readonly instance: string;
  /** Records of the chain so far. */
  readonly count: bigint;
  /** The hash of the last of them. */
  readonly hash: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
}

/** A checkpoint and who signed it. */
export interface SignedCheckpoint extends Checkpoint {
  /** Id of the key. */
  readonly key: string;
  readonly signature: string;
}

/** A text that is no checkpoint. */
export class CheckpointFault extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'CheckpointFault';
  }
}

/** Signs a checkpoint of now. */
export function signCheckpoint(key: SigningKey, instance: string, head: ChainHead): string {
  const time = new Date().toISOString();
  const checkpoint = { instance, count: head.count, hash: head.hash, time };
  const signature = key.sign(statementOf(checkpoint));
  return (
    `{"instance":${JSON.stringify(instance)},"count":${head.count},"hash":"${head.hash}"` +
    `,"time":"${time}","key":"${key.public.id}","signature":"${signature}"}`
  );
}

/** Reads a signed checkpoint; nothing of it is believed yet. @throws CheckpointFault */
export function parseCheckpoint(line: string): SignedCheckpoint {
  const fields = fieldsOf(line);
  const count = fields['count'];
  if (typeof count !== 'number' && typeof count !== 'bigint') throw missing('count');
  if (!Number.isInteger(Number(count))) throw missing('count');
  return {
    instance: text(fields, 'instance'),
    count: BigInt(count),
    hash: text(fields, 'hash'),
    time: text(fields, 'time'),
    key: text(fields, 'key'),
    signature: text(fields, 'signature'),
  };
}

/** Whether one of the keys signed it. */
export function isSigned(checkpoint: SignedCheckpoint, keys: readonly PublicKey[]): boolean {
  const statement = statementOf(checkpoint);
  return keys.some(
    (key) => key.id === checkpoint.key && key.verifies(statement, checkpoint.signature),
  );
}

function statementOf({ instance, count, hash, time }: Checkpoint): string {
  return [PURPOSE, instance, count, hash, time, ''].join('\n');
}

function fieldsOf(line: string): Readonly<Record<string, JsonValue>> {
  const value = jsonOf(line);
  if (isJsonObject(value)) return value;
  throw new CheckpointFault('a checkpoint is a JSON object');
}

function jsonOf(line: string): JsonValue {
  try {
    return parseJson(line);
  } catch {
    throw new CheckpointFault('a checkpoint is a JSON object');
  }
}

function text(fields: Readonly<Record<string, JsonValue>>, name: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw missing(name);
}

function missing(name: string): CheckpointFault {
  return new CheckpointFault(`the field "${name}" of a checkpoint is missing or of another kind`);
}
