import { randomUUID } from 'node:crypto';
import type { Field, Schema } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import { transactionKey } from '../../catalog/records/keys.ts';
import { absent } from '../../catalog/records/reader.ts';
import { MAIN, MAIN_CHAIN } from '../../format/chain.ts';
import type { IndexDefinition, Snapshot } from '../../format/snapshot.ts';
import { checkIndexable, indexTypeOf } from '../../index/keys/index-kind.ts';
import { namesVectorIndex, vectorSpec } from '../../index/vectors/vector-kind.ts';
import { textOptions } from '../../tokens/text-options.ts';
import {
  lanceIndexNames,
  type LanceIndex,
  type LanceIndexStats,
  type LanceLibrary,
  type LanceStatement,
  type LanceTableVersion,
} from '../../versions/managed/lance-library.ts';
import { indexBody, lanceIndexSpec, withoutLength } from '../jobs/lance-index-spec.ts';
import type { IndexSpec, JobSpec, LanceIndexJob, TransactionRecord } from '../jobs/transaction.ts';
import { queuedTransaction, writesOf } from '../jobs/transactions.ts';

/** The indices of a table that changes its format. */
export interface ConvertedIndices {
  /** Jobs that build them again. */
  readonly jobs: readonly JobSpec[];
  /** Names of those that the other format has not, with the reason as a part of a sentence. */
  readonly lost: ReadonlyMap<string, string>;
}

/** The body of a request for an index. */
type Body = Record<string, JsonValue>;

/** The same for an index of a kind. */
type KindBody = Body & { readonly index_type: string };

/** Rows that the library needs to train a product quantisation. */
const PQ_ROWS = 256;

/** An index of the engine, built or asked for. */
type EngineIndex = Pick<IndexDefinition, 'name' | 'type' | 'distance' | 'asked' | 'text'> & {
  readonly column: string;
};

/**
 * Jobs that build the indices of a table of the engine in the Lance table that it becomes.
 * @param open Work on the table that has not ended: its indices are built in the other table instead.
 */
export function indicesToLance(
  { indices = [], ...table }: Snapshot,
  open: readonly JobSpec[],
): ConvertedIndices {
  const built = indices.map((index) => ({
    ...index,
    column: table.schema.fields[table.fieldIds.indexOf(index.field)]?.name ?? '',
  }));
  const asked = open.flatMap((job) =>
    job.type === 'index' ? [{ ...job, type: job.indexType }] : [],
  );
  return gathered<EngineIndex>([...built, ...asked], (index): LanceIndexJob => {
    const spec = lanceIndexSpec(lanceBody(index, table.rows));
    return { type: 'lance_index', column: index.column, index: spec, ...shared(index.name) };
  });
}

/** The kind that was asked for is built where the library has it: the engine has one for several. */
function lanceBody({ type, distance, asked, text }: EngineIndex, rows: bigint): Body {
  const body = { ...text, ...(distance !== undefined && { distance_type: distance }) } as Body;
  const kinds = distance === 'hamming' || asked === undefined ? [type] : [asked, type];
  const kind = kinds.find((one) => isLanceKind(one)) ?? type;
  if (kind.toUpperCase().endsWith('PQ') && rows < PQ_ROWS) {
    const why = `the Lance library builds an index of type ${kind} of ${PQ_ROWS} rows and more`;
    throw new CatalogError('Unsupported', why);
  }
  return { ...body, index_type: kind };
}

function isLanceKind(index_type: string): boolean {
  try {
    lanceIndexSpec({ index_type });
    return true;
  } catch {
    return false;
  }
}

/** An index of a Lance table as the library describes it, and what it covers. */
interface DescribedIndex {
  readonly name: string;
  readonly index: LanceIndex | undefined;
  readonly stats: LanceIndexStats | null;
}

/** The indices of a Lance table. @param names Their names in the manifest. */
export async function describedIndices(
  library: LanceLibrary,
  place: LanceTableVersion,
  names: readonly string[],
  statement: LanceStatement,
): Promise<readonly DescribedIndex[]> {
  if (names.length === 0) return [];
  const all = await library.indices(place, statement);
  const described: DescribedIndex[] = [];
  for (const name of names) {
    const index = all.find((one) => one.name === name);
    const stats = index && (await library.indexStats(place, name, statement));
    described.push({ name, index, stats: stats ?? null });
  }
  return described;
}

/** An index of a Lance table, built or asked for. */
interface LibraryIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly body: KindBody;
}

/**
 * Jobs that build the indices of a Lance table in the table of the engine that it becomes.
 * @param open Work on the table that has not ended: its indices are built in the other table instead.
 */
export function indicesToArrow(
  described: readonly DescribedIndex[],
  schema: Schema,
  open: readonly JobSpec[],
): ConvertedIndices {
  const built = described.map(({ name, index, stats }) => ({
    name,
    columns: index?.columns ?? [],
    body: index === undefined ? { index_type: '' } : engineBody(index, stats),
  }));
  const asked = open.flatMap((job) =>
    job.type === 'lance_index'
      ? [{ name: job.name, columns: [job.column], body: indexBody(job.index) }]
      : [],
  );
  return gathered<LibraryIndex>([...built, ...asked], ({ name, columns, body }): IndexSpec => {
    const column = schema.fields.find((field) => field.name === columns[0]);
    if (column === undefined || columns.length !== 1) {
      throw new CatalogError('Unsupported', 'it is not made of one whole column');
    }
    return {
      type: 'index',
      column: column.name,
      uuid: randomUUID(),
      ...engineKind(body, column),
      ...shared(name),
    };
  });
}

function engineBody(
  { indexType, indexDetails }: LanceIndex,
  stats: LanceIndexStats | null,
): KindBody {
  const type = lanceIndexNames[indexType] ?? indexType;
  const distance = stats?.distanceType;
  return {
    ...(type === 'FTS' && withoutLength(indexDetails as Body)),
    ...(distance !== undefined && { distance_type: distance }),
    index_type: type,
  };
}

function engineKind(
  body: KindBody,
  column: Field,
): Pick<IndexSpec, 'indexType' | 'distance' | 'asked' | 'text'> {
  const { index_type: type } = body;
  if (namesVectorIndex(type)) return vectorSpec(body, column);
  const indexType = indexTypeOf(type);
  checkIndexable(indexType, column);
  return { indexType, ...(indexType === 'FTS' && { text: textOptions(body) }) };
}

/** Checks and writes of a commit that begins the jobs of a table. */
export function jobCommit(table: TransactionRecord['table'], { jobs }: ConvertedIndices) {
  const records = jobs.map((job) => queuedTransaction(table, job));
  return {
    checks: records.map((record) => absent(transactionKey(record.id))),
    writes: records.flatMap(writesOf),
  };
}

function shared(name: string) {
  return { where: null, name, replace: false, branch: MAIN, branchKey: MAIN_CHAIN.key } as const;
}

/** Of several indices of a name the last one counts. */
function gathered<Index extends { readonly name: string }>(
  indices: readonly Index[],
  jobOf: (index: Index) => JobSpec,
): ConvertedIndices {
  const jobs: JobSpec[] = [];
  const lost = new Map<string, string>();
  const last = new Map(indices.map((index) => [index.name, index]));
  for (const index of last.values()) {
    try {
      jobs.push(jobOf(index));
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      lost.set(index.name, error.message);
    }
  }
  return { jobs, lost };
}
