import type { BranchRecord } from './records.ts';

type Origin = BranchRecord['lineage'][number];
type Parsed = Omit<BranchRecord, 'lineage'> & {
  readonly lineage: readonly (Omit<Origin, 'version'> & { readonly version: string })[];
};

/** The bytes of a branch's record: JSON, versions as decimal strings so that no reader rounds them. */
export function encodeBranch(record: BranchRecord): Uint8Array {
  const lineage = record.lineage.map((origin) => ({ ...origin, version: String(origin.version) }));
  return Buffer.from(JSON.stringify({ ...record, lineage }));
}

/** The inverse of `encodeBranch`. */
export function decodeBranch(bytes: Uint8Array): BranchRecord {
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Parsed;
  const lineage = parsed.lineage.map((origin) => ({ ...origin, version: BigInt(origin.version) }));
  return { ...parsed, lineage };
}
