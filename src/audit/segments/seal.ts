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
  return signedText(key, PURPOSE, {
    instance: segment.instance,
    file: segment.file,
    before_count: segment.before.count,
    before_hash: segment.before.hash,
    count: segment.after.count,
    hash: segment.after.hash,
    from: segment.from,
    to: segment.to,
    sha256: segment.sha256,
    retired,
  });
}

/** Parses a seal without verifying it. @throws StatementFault */
export function parseSeal(text: string): SegmentSeal {
  const fields = statementFields(text);
  return {
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
  };
}

/** Whether one of the keys signed it. */
export function isSealSigned(seal: SegmentSeal, keys: readonly PublicKey[]): boolean {
  const { instance, file, before, after, from, to, sha256, retired } = seal;
  const values = [before.count, before.hash, after.count, after.hash, from, to, sha256, retired];
  return isSignedBy(keys, seal, signingInput(PURPOSE, [instance, file, ...values]));
}
