import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Answer } from '../../../protocol/backend.ts';
import { jsonAnswer, restOn } from '../call/answers.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Stored, TableKind, TableRecord, VersionRecord } from '../../format/records.ts';
import type { Call } from '../call/handler.ts';
import { lanceSnapshot } from '../../format/lance/snapshot.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import type { Chain } from '../../format/chain.ts';
import { fragmentDataBytes } from '../../format/snapshot.ts';
import type { Tags } from '../../versions/lines/tags.ts';
import { versionNotFound } from '../../format/version-refusals.ts';
import { readPlace, type TableView } from '../call/read-place.ts';

/** Fragments with fewer rows are counted as small: merging them would help. */
const SMALL_ROWS = 100_000;

/** GetTableStats. Every number is a whole one: the LanceDB client takes no other (wire contract, section 5.2). */
export async function tableStats(
  catalog: Catalog,
  tables: TableView,
  tags: Tags,
  call: Call,
): Promise<Answer> {
  const stored = await catalog.requireTable(call.request.object);
  const table = stored.content;
  const { branch, version } = await readPlace(tags, table, call);
  const chain = await tables.chain(table, branch);
  const read = { tables, path: call.request.object, table, chain, version };
  const { fragments, numIndices, record } = await contentsOf[table.kind](read);
  if (record !== undefined) restOn(call, stored, chain, record);
  const total = (count: (fragment: Part) => number) =>
    fragments.reduce((sum, fragment) => sum + BigInt(count(fragment)), 0n);
  return jsonAnswer(call, {
    total_bytes: total(({ bytes }) => bytes),
    num_rows: total(({ rows }) => rows),
    num_indices: numIndices,
    fragment_stats: fragmentStats(fragments),
  });
}

/** A part of a table with rows and bytes. */
interface Part {
  readonly rows: number;
  /** Its length in the statistics of fragments. LanceDB counts deleted rows of Lance tables too. */
  readonly length: number;
  readonly bytes: number;
}

interface Contents {
  readonly fragments: readonly Part[];
  readonly numIndices: number;
  /** The record of the version, if the answer depends on nothing else. */
  readonly record?: Stored<VersionRecord>;
}

const NOTHING: Contents = { fragments: [], numIndices: 0 };

/** A read of a table at a version of a line or at the newest. */
interface Read {
  readonly tables: TableView;
  readonly path: ObjectPath;
  readonly table: TableRecord;
  readonly chain: Chain;
  readonly version: bigint | undefined;
}

const contentsOf: Readonly<Record<TableKind, (read: Read) => Promise<Contents>>> = {
  declared: async ({ version }) => {
    if (version !== undefined) throw versionNotFound(version);
    return NOTHING;
  },
  lance: async ({ tables, path, table, chain, version }) => {
    const { content } = await tables.version(table, version, chain);
    const snapshot = await lanceSnapshot(tables.storage, locationOf(table), content, path);
    const { fragments, numIndices } = snapshot;
    const parts = fragments.map(({ rows, deletedRows, bytes }) => {
      return { rows, length: rows + deletedRows, bytes };
    });
    return { fragments: parts, numIndices };
  },
  engine: async ({ tables, table, chain, version }) => {
    const { snapshot, record } = await tables.found(table, version, chain);
    const { fragments, indices = [] } = snapshot;
    const parts = fragments.map((fragment) => ({
      rows: fragment.rows,
      length: fragment.rows,
      bytes: fragmentDataBytes(fragment),
    }));
    return { fragments: parts, numIndices: indices.length, record };
  },
};

function fragmentStats(fragments: readonly Part[]): object {
  const lengths = fragments.map(({ length }) => length).toSorted((a, b) => a - b);
  return {
    num_fragments: lengths.length,
    num_small_fragments: lengths.filter((rows) => rows < SMALL_ROWS).length,
    lengths: {
      min: lengths[0] ?? 0,
      max: lengths.at(-1) ?? 0,
      mean: meanOf(lengths),
      p25: percentile(lengths, 25),
      p50: percentile(lengths, 50),
      p75: percentile(lengths, 75),
      p99: percentile(lengths, 99),
    },
  };
}

/** Rounded down. */
function meanOf(lengths: readonly number[]): number {
  const sum = lengths.reduce((total, rows) => total + rows, 0);
  return lengths.length === 0 ? 0 : Math.floor(sum / lengths.length);
}

/** Percentile of ascending lengths. */
function percentile(lengths: readonly number[], percent: number): number {
  const rank = Math.ceil((lengths.length * percent) / 100);
  return lengths[Math.max(rank, 1) - 1] ?? 0;
}
