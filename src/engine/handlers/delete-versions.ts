import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import { jsonAnswer } from '../answers.ts';
import type { Handler } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { integerField } from '../query/fields.ts';
import { keptVersions } from '../table/kept-versions.ts';
import { judgeAside } from '../rules/place-judge.ts';
import { placeSummary } from './commit-summary.ts';
import { keptManagedVersions } from '../managed/kept-managed-versions.ts';
import { requireWrittenTable } from './table-parts.ts';
import type { TagParts } from './tags.ts';

/** Versions from the first (included) up to the last (excluded); null for no end. */
export interface VersionRange {
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
    const answer = (removed: readonly bigint[]): Answer =>
      jsonAnswer(
        call,
        { deleted_count: removed.length },
        { commit: placeSummary('delete_versions') },
      );
    const removed = await tables.remove({
      table: async () => {
        const table = await catalog.requireTable(object);
        requireWrittenTable(object, table.content);
        const branch = branchParameter(call);
        const placed = { path: object, record: table.content };
        await judgeAside(call.rules, placed, 'delete_versions', { branch });
        return table;
      },
      chain: (table) => tables.chain(table, branchParameter(call)),
      asked: (version) => isAsked(ranges, version),
      kept: (table, chain) =>
        table.kind === 'engine'
          ? keptVersions(tags, branches, table.id, chain)
          : keptManagedVersions(tags, branches, table, chain),
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
