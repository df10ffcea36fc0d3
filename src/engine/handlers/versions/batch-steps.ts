import { randomUUID } from 'node:crypto';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { Check, Write } from '../../../store/store.ts';
import { tableKey } from '../../catalog/records/keys.ts';
import { RecordReader, unchanged } from '../../catalog/records/reader.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import type { TableRecord } from '../../format/records.ts';
import { tableAlreadyExists } from '../../catalog/records/refusals.ts';
import { deregistration } from '../../catalog/table-deregister.ts';
import { tablePlace } from '../../catalog/table-place.ts';
import { keptManagedVersions } from '../../versions/managed/kept-managed-versions.ts';
import { removeManifests } from '../../versions/managed/managed-manifests.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import { requireLanceTable, type VersionPlan } from '../../versions/managed/version-creation.ts';
import { withExternalWrites } from '../../versions/managed/external-versions.ts';
import { settleVersions } from '../../versions/managed/version-names.ts';
import { propertiesOf } from '../call/parameters.ts';
import { flagField, textField, type Fields } from '../../base/fields.ts';
import { makeLocation, releaseLocation, reserveLocation } from '../../versions/lines/locations.ts';
import { planRemoval } from '../../versions/version-removal.ts';
import { branchField, otherBranch } from './batch-create-versions.ts';
import type { CommitJudge } from '../../rules/commit-judge.ts';
import { judgeAside, judgeLeaving, judgePlacing } from '../../rules/place-judge.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { versionRequest } from './create-version.ts';
import { declaredEntry, declaredLocation } from '../tables/declare-table.ts';
import { isAsked, rangesField } from './delete-versions.ts';
import { formerLocation } from '../tables/deregister-table.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { requireWrittenTable } from '../call/table-parts.ts';
import { versionEntry } from './table-versions.ts';

/** The planned effect of one operation of a batch. */
export interface PlannedStep {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
  readonly summary: CommitSummary;
  readonly answer: object;
  /** Folder of a declared table. */
  readonly place?: string;
  /** Prepares the commit of the batch. */
  readonly prepare?: () => Promise<void>;
  /** Finishes the operation after the commit of the batch. */
  readonly settle: () => Promise<void>;
}

/** One operation of a batch. */
export interface BatchStep {
  readonly path: ObjectPath;
  /** Requires its right. @throws CatalogError PermissionDenied. */
  readonly require: (permit: Permit) => void;
  /** Plans the operation, given the versions that the batch creates. */
  readonly plan: (versions: VersionPlan) => Promise<PlannedStep>;
  /** Removes what was prepared if the batch is refused. */
  readonly undo: () => Promise<void>;
}

/** Parts of the operations of a batch. */
export interface StepParts extends ManagedParts {
  readonly rules: CommitJudge;
}

type StepMaker = (parts: StepParts, path: ObjectPath, fields: Fields) => BatchStep;

const nothing = async (): Promise<void> => undefined;

/** Operations of a batch by kind. */
export const batchSteps: Readonly<Record<string, StepMaker>> = {
  declare_table: declare,
  create_table_version: createVersion,
  delete_table_versions: deleteVersions,
  deregister_table: deregister,
};

function createVersion({ storage }: StepParts, path: ObjectPath, fields: Fields): BatchStep {
  const request = versionRequest(path, fields, branchField(fields));
  return {
    path,
    require: (permit) => permit.require('CreateTableVersion', path, ...otherBranch(request.branch)),
    plan: async (versions) => {
      const planned = await versions.add(request);
      const { checks, writes, summary, table, record } = planned;
      const answer = { version: versionEntry(table, record) };
      return { checks, writes, summary, answer, settle: () => settleVersions(storage, [planned]) };
    },
    undo: nothing,
  };
}

function declare(parts: StepParts, path: ObjectPath, fields: Fields): BatchStep {
  const given = propertiesOf(fields);
  const chosen = textField(fields, 'location');
  const id = randomUUID();
  const createdMillis = Date.now();
  const made = new Set<string>();
  return {
    path,
    require: (permit) => {
      permit.require('DeclareTable', path);
      if (flagField(fields, 'vend_credentials', false)) permit.require('CreateTableVersion', path);
    },
    plan: async () => {
      const { store } = parts;
      const catalog = { ...parts, reader: new RecordReader(store) };
      const { existing, checks } = await tablePlace(catalog, path);
      if (existing !== undefined) throw tableAlreadyExists(path);
      const location = await declaredLocation(parts, id, chosen);
      await judgePlacing(parts.rules, path, location);
      const properties = await withExternalWrites(parts.catalog, path, given);
      const record = parts.catalog.local.claimed({
        id,
        kind: 'declared',
        location,
        properties,
        createdMillis,
      });
      const reserved = reserveLocation(location, id);
      return {
        checks: [...checks, ...reserved.checks],
        writes: [{ key: tableKey(path), value: encodeTable(record) }, ...reserved.writes],
        summary: placeSummary('declare', id),
        answer: declaredEntry(location, properties),
        place: location,
        prepare: async () => {
          if (chosen === null) made.add(location);
          await makeLocation(location, parts.locations);
        },
        settle: nothing,
      };
    },
    undo: async () => {
      for (const folder of made) await parts.storage.folders?.removeIfEmpty(folder);
    },
  };
}

function deleteVersions(parts: StepParts, path: ObjectPath, fields: Fields): BatchStep {
  const { catalog, tables, tags, branches } = parts;
  const branch = branchField(fields);
  const ranges = rangesField(fields['ranges']);
  const removal = {
    table: async () => {
      const table = await catalog.requireTable(path);
      requireLanceTable(path, table.content);
      requireWrittenTable(path, table.content);
      const placed = { path, record: table.content };
      await judgeAside(parts.rules, placed, 'delete_versions', { branch });
      return table;
    },
    chain: (table: TableRecord) => tables.chain(table, branch),
    selected: (version: bigint) => isAsked(ranges, version),
    retained: (table: TableRecord, chain: Parameters<typeof keptManagedVersions>[4]) =>
      keptManagedVersions(tables.storage, tags, branches, table, chain),
  };
  return {
    path,
    // This is the only dropping operation on a branch, so main must be named.
    require: (permit) => permit.require('drop', path, branch),
    plan: async () => {
      const { table, records, checks, writes } = await planRemoval(parts, removal);
      return {
        checks,
        writes,
        summary: placeSummary('delete_versions', table.id),
        answer: { deleted_count: records.length },
        settle: () => removeManifests(tables.storage, locationOf(table), records),
      };
    },
    undo: nothing,
  };
}

function deregister(parts: StepParts, path: ObjectPath): BatchStep {
  const { catalog, tables } = parts;
  return {
    path,
    require: (permit) => permit.require('DeregisterTable', path),
    plan: async () => {
      const stored = await catalog.requireTable(path);
      const placed = { path, record: stored.content };
      await judgeLeaving(parts.rules, tables, placed, 'deregister');
      const { location, properties } = stored.content;
      const released = location === null ? [] : [releaseLocation(location)];
      return {
        checks: [unchanged(stored)],
        writes: [...deregistration(path, stored), ...released],
        summary: placeSummary('deregister', stored.content.id),
        answer: { id: path, location: formerLocation(tables, stored.content), properties },
        settle: nothing,
      };
    },
    undo: nothing,
  };
}
