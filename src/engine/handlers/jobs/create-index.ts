import { randomUUID } from 'node:crypto';
import type { Field } from 'apache-arrow';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, Handler } from '../call/handler.ts';
import { checkIndexable, indexTypeOf } from '../../index/keys/index-kind.ts';
import { checkName } from '../../upkeep/jobs/index-job.ts';
import type { IndexSpec, TransactionRecord } from '../../upkeep/jobs/transaction.ts';
import { branchParameter } from '../call/parameters.ts';
import { textField, type Fields } from '../../base/fields.ts';
import { fieldAt, fieldPlace } from '../../format/field-place.ts';
import type { IndexType, Snapshot } from '../../format/snapshot.ts';
import { textOptions } from '../../tokens/text-options.ts';
import { namesVectorIndex, vectorSpec } from '../../index/vectors/vector-kind.ts';
import type { BackfillColumnsParts } from '../columns/backfill-columns.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { requireEngineTable } from '../call/table-parts.ts';

const MOST_CHARACTERS = 255;

/**
 * CreateTableIndex and CreateTableScalarIndex: a job that builds the index. The answer comes
 * when the job is written down; its id is a transaction's, too. Clients of LanceDB expect
 * that an index takes the place of another of its name; to others the name is taken.
 */
export function createIndex(parts: BackfillColumnsParts): Handler {
  return async (call) => {
    const { object } = call.request;
    const requested = textField(call.body, 'index_type') ?? '';
    const scalar = namesVectorIndex(requested) ? null : indexTypeOf(requested);
    const table = await parts.catalog.requireTable(object);
    requireEngineTable(object, table.content);
    const chain = await parts.tables.chain(table.content, branchParameter(call));
    const snapshot = await parts.tables.snapshot(table.content, undefined, chain);
    const column = columnOf(call, snapshot);
    const kind =
      scalar === null ? vectorSpec(call.body, column) : plainSpec(scalar, call.body, column);
    const job: IndexSpec = {
      type: 'index',
      column: column.name,
      where: null,
      name: indexName(call.body, column.name),
      uuid: randomUUID(),
      ...kind,
      replace: call.request.dialect === 'lancedb',
      branch: chain.branch,
      branchKey: chain.key,
    };
    checkName(snapshot, job);
    const answer = ({ id }: TransactionRecord): Answer =>
      jsonAnswer(
        call,
        { transaction_id: id },
        { commit: placeSummary('create_index', table.content.id) },
      );
    const seal = call.once.seal(answer);
    const record = await parts.transactions.begin({ path: object, table, job, seal });
    parts.runner.wake();
    return answer(record);
  };
}

function plainSpec(
  indexType: IndexType,
  body: Fields,
  column: Field,
): Pick<IndexSpec, 'indexType' | 'text'> {
  checkIndexable(indexType, column);
  return { indexType, ...(indexType === 'FTS' && { text: textOptions(body) }) };
}

function columnOf({ body }: Call, { schema }: Snapshot): Field {
  const name = textField(body, 'column') ?? '';
  const place = fieldPlace(name, schema);
  if (place.fields.length === 1) return fieldAt(place);
  throw new CatalogError(
    'Unsupported',
    `an index of ${JSON.stringify(name)} is not built: it lies inside the column ${JSON.stringify(place.fields[0].name)}, and indices are made of whole columns`,
  );
}

/**
 * The name of an index. Names are used in paths, where `.` and `..` are not allowed.
 * @throws CatalogError InvalidInput
 */
export function indexName(body: Fields, column: string): string {
  const name = textField(body, 'name') ?? `${column}_idx`;
  const hasLength = name !== '' && name.length <= MOST_CHARACTERS;
  if (hasLength && !/\p{Cc}|\p{Surrogate}|^\.{1,2}$/u.test(name)) return name;
  throw new CatalogError(
    'InvalidInput',
    `the name of an index has 1 to ${MOST_CHARACTERS} characters, none of them a control character, and is not "." or ".."`,
  );
}
