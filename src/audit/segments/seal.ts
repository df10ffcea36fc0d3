import { crc32 } from '@node-rs/crc32';
import type { ChainHead } from '../chain/hash-chain.ts';
import {
  statementFields,
  integerIn,
  isSignedBy,
  signedText,
  signingInput,
  StatementFault,
  textIn,
  type StatementValue,
} from '../signing/statement.ts';
import { checksumText } from './portions.ts';
import type { PublicKey, SigningKey } from '../signing/keys.ts';

const PURPOSE = 'arrowgate audit seal 1';

/** Metadata of a sealed segment, a file of the log that gets no further records. */
interface Segment {
  readonly instance: string;
  /** Name of the file, `00000001.arrow`. */
  readonly file: string;
  /** Head of the chain before the first record. */
  readonly before: ChainHead;
  /** Head of the chain after the last record. */
  readonly after: ChainHead;
  /** Times of the earliest and the latest record. */
  readonly from: string;
  readonly to: string;
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  /** CRC-32 of each portion of the file, from `PortionSums`; absent in seals of an earlier version, see `detached-portions.ts`. */
  readonly portions?: string;
}

/** Signed metadata of a segment. */
export interface SegmentSeal extends Segment {
  /** When the file was removed after its retention; empty while the file exists. */
  readonly retired: string;
  /** Id of the key. */
  readonly key: string;
  readonly signature: string;
}

/** Signs the metadata of a segment. @param retired When its file was removed. */
export function sealText(key: SigningKey, segment: Segment, retired = ''): string {
  return signedText(key, PURPOSE, { ...valuesOf({ ...segment, retired }) });
}

/**
 * The signed values by their names. With `portions` comes the CRC-32 of all values, so that readers
 * without a key see damage of the seal itself.
 */
function valuesOf(
  seal: Segment & Pick<SegmentSeal, 'retired'>,
): Readonly<Record<string, StatementValue>> {
  const values = {
    instance: seal.instance,
    file: seal.file,
    before_count: seal.before.count,
    before_hash: seal.before.hash,
    count: seal.after.count,
    hash: seal.after.hash,
    from: seal.from,
    to: seal.to,
    sha256: seal.sha256,
    retired: seal.retired,
  };
  if (seal.portions === undefined) return values;
  const checked = { ...values, portions: seal.portions };
  const checksum = crc32(signingInput(PURPOSE, Object.values(checked)));
  return { ...checked, crc32: checksumText(checksum) };
}

/** Parses a seal without verifying its signature. @throws StatementFault if it is no seal, or damaged */
export function parseSeal(text: string): SegmentSeal {
  const fields = statementFields(text);
  const isChecked = 'portions' in fields || 'crc32' in fields;
  const seal = {
    instance: textIn(fields, 'instance'),
    file: textIn(fields, 'file'),
    before: { count: integerIn(fields, 'before_count'), hash: textIn(fields, 'before_hash') },
    after: { count: integerIn(fields, 'count'), hash: textIn(fields, 'hash') },
    from: textIn(fields, 'from'),
    to: textIn(fields, 'to'),
    sha256: textIn(fields, 'sha256'),
    retired: textIn(fields, 'retired'),
    key: textIn(fields, 'key'),
    signature: textIn(fields, 'signature'),
    ...(isChecked && { portions: textIn(fields, 'portions') }),
  };
  if (isChecked && textIn(fields, 'crc32') !== valuesOf(seal)['crc32']) {
    throw new StatementFault('the seal does not match its checksum');
  }
  return seal;
}

/** Whether one of the keys signed it. */
export function isSealSigned(seal: SegmentSeal, keys: readonly PublicKey[]): boolean {
  return isSignedBy(keys, seal, signingInput(PURPOSE, Object.values(valuesOf(seal))));
}
