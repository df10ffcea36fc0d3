import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Handler } from '../call/handler.ts';
import { branchParameter } from '../call/parameters.ts';
import { integerField, countField } from '../../base/fields.ts';
import { keptVersions } from '../../versions/lines/kept-versions.ts';
import { judgeAside } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { keptManagedVersions } from '../../versions/managed/kept-managed-versions.ts';
import { requireWrittenTable, requireEngineTable } from '../call/table-parts.ts';
import { knownTable, type TagParts } from './tags.ts';
import { unchanged } from '../../catalog/records/reader.ts';
import type { Tables } from '../../versions/tables.ts';
import type { Committed } from '../../versions/lines/version-commits.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { versionJudge } from '../../rules/version-judge.ts';
import { versionAnswer } from '../columns/schema-change.ts';

/** Lance restores by a commit of the client's own manifest (wire contract, section 10.5). */
const BY_ITS_CLIENT = 'one of them restores a version, with a commit of its own';

/**
 * RestoreTable: the next version has the rows and columns of an older one. The
 * ids of rows and columns that were given out since are not given out again.
 */
export function restoreTable(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    const { object } = call.request;
    const version = countField(call.body, 'version') ?? undefined;
    const table = await catalog.requireTable(object);
    requireEngineTable(object, table.content, BY_ITS_CLIENT);
    const chain = await tables.chain(table.content, branchParameter(call));
    const answer = (made: Committed) => versionAnswer(call, 'restore', made);
    const committed = await tables.commit({
      table,
      chain,
      current: () => catalog.requireTable(object),
      // Its files stay only as long as the version does.
      checks: async () => [unchanged(await tables.version(table.content, version, chain))],
      change: async (base) => {
        const from = await tables.snapshot(table.content, version, chain);
        const { schema, fieldIds, fragments, indices, lists } = from;
        return { ...base, schema, fieldIds, fragments, indices, lists };
      },
      judge: versionJudge(call.rules, tables, {
        path: object,
        table: table.content,
        branch: chain.branch,
        action: 'restore',
      }),
      seal: call.once.seal(answer),
    });
    return answer(committed);
  };
}

/** Versions from the first (included) up to the last (excluded); null for no end. */
interface VersionRange {
  readonly first: bigint;
  readonly last: bigint | null;
}

/**
 * BatchDeleteTableVersions: ranges that include their start and not their end; an
 * end below zero means through the latest. The newest version and those that a
 * tag names or a branch begins with stay, whatever is asked; so do files that
 * another version needs. On a branch only the versions made on it are meant.
 */
export function deleteVersions({ catalog, tables, tags, branches }: TagParts): Handler {
  return async (call) => {
    const { object } = call.request;
    const ranges = rangesField(call.body['ranges']);
    const table = knownTable(async () => {
      const found = await catalog.requireTable(object);
      requireWrittenTable(object, found.content);
      const branch = branchParameter(call);
      const placed = { path: object, record: found.content };
      await judgeAside(call.rules, placed, 'delete_versions', { branch });
      return found;
    });
    const answer = (removed: readonly bigint[]): Answer => {
      const commit = placeSummary('delete_versions', table.id());
      return jsonAnswer(call, { deleted_count: removed.length }, { commit });
    };
    const removed = await tables.remove({
      table: table.read,
      chain: (record) => tables.chain(record, branchParameter(call)),
      selected: (version) => isAsked(ranges, version),
      retained: (record, chain) =>
        record.kind === 'engine'
          ? keptVersions(tags, branches, record.id, chain)
          : keptManagedVersions(tables.storage, tags, branches, record, chain),
      seal: call.once.seal(answer),
    });
    return answer(removed);
  };
}

export function isAsked(ranges: readonly VersionRange[], version: bigint): boolean {
  return ranges.some(({ first, last }) => version >= first && (last === null || version < last));
}

/** @throws CatalogError InvalidInput for a range that cannot be one. */
export function rangesField(value: JsonValue | undefined): readonly VersionRange[] {
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  return entries.map((entry) => {
    const first = integerField(entry, 'start_version') ?? 0n;
    const last = integerField(entry, 'end_version') ?? 0n;
    if (first < 0n) {
      throw new CatalogError('InvalidInput', `start_version must be at least 0, not ${first}`);
    }
    if (last >= 0n && last < first) {
      throw new CatalogError(
        'InvalidInput',
        `a range of versions cannot end at ${last} before it begins at ${first}`,
      );
    }
    return { first, last: last < 0n ? null : last };
  });
}
