import type { Answer, CatalogRequest } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Call, Handler, HandlerTable } from './handler.ts';
import { branchParameter, namesVersion } from './parameters.ts';
import { versionOfHeaders } from '../../query/plan/answer.ts';
import { wasMade } from '../../versions/lines/manifest-store.ts';
import type { Tables } from '../../versions/tables.ts';

/** Parts for checking what a client has seen. */
interface FreshnessParts {
  readonly catalog: Pick<Catalog, 'table'>;
  readonly tables: Pick<Tables, 'chain' | 'version' | 'folder' | 'storage'>;
}

/** Reads on which clients send what they have seen (wire contract, sections 1.6 and 5). */
const READS: readonly OperationName[] = [
  'DescribeTable',
  'ListTableVersions',
  'ListTableTags',
  'ListTableBranches',
  'GetTableStats',
  'QueryTable',
  'CountTableRows',
  'ExplainTableQueryPlan',
  'AnalyzeTableQueryPlan',
  'ListTableIndices',
];

/** Headers with the version of a client's own write and the newest version it has read. */
const HEADERS = ['x-lancedb-min-version', 'x-lancedb-min-read-version'] as const;

/** The newest version that a client has seen; invalid numbers are ignored. */
export function seenIn(headers: CatalogRequest['headers']): bigint | undefined {
  let most: bigint | undefined;
  for (const name of HEADERS) {
    const text = headers[name];
    if (typeof text !== 'string' || !/^\d{1,20}$/.test(text)) continue;
    const version = BigInt(text);
    if (most === undefined || version > most) most = version;
  }
  return most;
}

/**
 * The same handlers, which answer no read from a store that was put back to an
 * earlier state: what a client says that it has seen is looked for.
 *
 * The newest is read each time, so an answer is only too old when the store has
 * lost versions. One that the client saw of a table that another has replaced
 * since looks alike, but its manifest is not in the folder of this table.
 */
export function withFreshness(parts: FreshnessParts, handlers: HandlerTable): HandlerTable {
  const guarded = READS.flatMap((name): [OperationName, Handler][] => {
    const handler = handlers[name];
    return handler === undefined ? [] : [[name, fresh(parts, handler)]];
  });
  return { ...handlers, ...Object.fromEntries(guarded) };
}

function fresh(parts: FreshnessParts, handler: Handler): Handler {
  const guarded = async (call: Call, seen: bigint): Promise<Answer> => {
    const answer = await handler(call);
    if (isAsNew(answer, seen)) return answer;
    try {
      await requireSeen(parts, call, seen);
    } catch (error) {
      await close(answer);
      throw error;
    }
    return answer;
  };
  return (call) => {
    const seen = seenIn(call.request.headers);
    // A read of a past version names its version.
    return seen === undefined || namesVersion(call) ? handler(call) : guarded(call, seen);
  };
}

function isAsNew(answer: Answer, seen: bigint): boolean {
  const version = versionOfHeaders(answer.headers);
  return version !== undefined && version >= seen;
}

async function requireSeen(
  { catalog, tables }: FreshnessParts,
  call: Call,
  seen: bigint,
): Promise<void> {
  const table = (await catalog.table(call.request.object))?.content;
  if (table?.kind !== 'engine') return;
  const chain = await tables.chain(table, branchParameter(call));
  const head = (await tables.version(table, undefined, chain)).content.version;
  if (head >= seen || !(await wasMade(tables.storage, tables.folder(table), seen, chain.key)))
    return;
  throw new CatalogError(
    'ServiceUnavailable',
    `the store of the catalog lacks changes: its newest version of the table is ${head}, but version ${seen} was written`,
  );
}

async function close({ body }: Answer): Promise<void> {
  if (body === null || typeof body === 'string') return;
  await body[Symbol.asyncIterator]().return?.();
}
