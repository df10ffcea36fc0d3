import { wireLocation } from '../../../storage/object-key.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import { isJsonObject } from '../../../protocol/json.ts';
import { jsonAnswer } from '../call/answers.ts';
import { commitFilesOnce, tookNoEffect, type Plan } from '../../catalog/records/commit-loop.ts';
import type { Seal } from '../../catalog/records/seal.ts';
import type { Call, Handler } from '../call/handler.ts';
import { letGo, VersionPlan } from '../../versions/managed/version-creation.ts';
import type { Fields } from '../../base/fields.ts';
import { batchSummary, requestedEntries, pathField } from './batch-create-versions.ts';
import { batchSteps, type BatchStep, type PlannedStep, type StepParts } from './batch-steps.ts';
import type { Gates } from '../../versions/managed/staged-manifest.ts';
import { gatesOf } from './create-version.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import type { Store, Write } from '../../../store/store.ts';
import { pairs, onlyItem } from '../../base/items.ts';

/** An operation of a batch with its kind. */
interface NamedStep extends BatchStep {
  readonly kind: string;
}

/** BatchCommitTables: operations on several tables, all or none in one conditional commit. */
export function batchCommitTables(parts: ManagedParts): Handler {
  return async (call) => {
    const steps = requestedEntries(call.body['operations']).map((fields, index) =>
      stepOf({ ...parts, rules: call.rules }, call, fields, `operations[${index}]`),
    );
    checkApart(steps);
    for (const step of steps) step.require(call.permit);
    const held = new Set<string>();
    const answerOf = (planned: readonly PlannedStep[]) => {
      const results = pairs(planned, steps).map(([{ answer }, { kind }]) => ({ [kind]: answer }));
      const commit = batchSummary(planned.map(({ summary }) => summary));
      return jsonAnswer(call, { results }, { commit, objects: steps.map(({ path }) => path) });
    };
    const seal = call.once.seal(answerOf);
    const { rules } = call;
    const planned = await committed({ ...parts, rules, gates: gatesOf(call) }, steps, held, seal);
    for (const { settle } of planned) await settle();
    await letGo(parts.storage, held);
    return answerOf(planned);
  };
}

async function committed(
  parts: StepParts & { readonly gates: Gates },
  steps: readonly NamedStep[],
  held: Set<string>,
  seal: Seal<readonly PlannedStep[]> | undefined,
): Promise<readonly PlannedStep[]> {
  const now = Date.now();
  let last: Extract<Plan<readonly PlannedStep[]>, { kind: 'commit' }> | undefined;
  try {
    return await commitFilesOnce<readonly PlannedStep[]>(
      { committer: parts.committer, seal },
      async (uncertain) => {
        if (uncertain && last !== undefined && (await haveTakenEffect(parts.store, last.writes))) {
          return { kind: 'done', result: last.result };
        }
        const versions = new VersionPlan(parts, now, held, parts.gates);
        const planned: PlannedStep[] = [];
        for (const step of steps) planned.push(await step.plan(versions));
        requireOwnPlaces(planned);
        for (const { prepare } of planned) await prepare?.();
        const writes = planned.flatMap((one) => one.writes);
        if (writes.length === 0) return { kind: 'done', result: planned };
        const checks = planned.flatMap((one) => one.checks);
        last = { kind: 'commit', checks, writes, result: planned };
        return last;
      },
    );
  } catch (error) {
    if (tookNoEffect(error)) {
      await letGo(parts.storage, held);
      for (const { undo } of steps) await undo();
    }
    throw error;
  }
}

function stepOf(parts: StepParts, call: Call, fields: Fields, part: string): NamedStep {
  const kinds = Object.entries(batchSteps).filter(([kind]) => isJsonObject(fields[kind] ?? null));
  const step = onlyItem(kinds);
  if (step === undefined) {
    throw new CatalogError(
      'InvalidInput',
      `${part} must hold exactly one of ${Object.keys(batchSteps).join(', ')}, not ${kinds.length}`,
    );
  }
  const [kind, make] = step;
  const inner = fields[kind] ?? null;
  const said = isJsonObject(inner) ? inner : {};
  const path = pathField(call, said, `${part}.${kind}`);
  return { kind, ...make(parts, path, said) };
}

/**
 * Several versions of a table may be created in one batch; any other operation on a table must be
 * the only one.
 */
function checkApart(steps: readonly NamedStep[]): void {
  const seen = new Map<string, string>();
  for (const { kind, path } of steps) {
    const table = canonicalPath(path);
    const before = seen.get(table);
    if (before !== undefined && (before !== kind || kind !== 'create_table_version')) {
      throw new CatalogError(
        'InvalidInput',
        `a batch cannot both ${words(before)} and ${words(kind)} ${table}: only versions of one table may be several`,
      );
    }
    seen.set(table, kind);
  }
}

/** Locations of a batch are not yet in the store, so they are compared here. */
function requireOwnPlaces(planned: readonly PlannedStep[]): void {
  const places = planned.flatMap(({ place }) => (place === undefined ? [] : [`${place}/`]));
  for (const [index, place] of places.entries()) {
    const other = places
      .slice(0, index)
      .find((one) => one.startsWith(place) || place.startsWith(one));
    if (other !== undefined) {
      throw new CatalogError(
        'InvalidInput',
        `the location ${JSON.stringify(wireLocation(place.slice(0, -1)))} overlaps the location of another table`,
      );
    }
  }
}

function words(kind: string): string {
  return kind.replaceAll('_', ' ');
}

/**
 * Whether writes of which the outcome is unknown have taken effect: any value of
 * theirs is found, or, where they only remove, nothing is left.
 */
export async function haveTakenEffect(
  store: Pick<Store, 'getMany'>,
  writes: readonly Write[],
): Promise<boolean> {
  const values = await store.getMany(writes.map(({ key }) => key));
  if (writes.every(({ value }) => value === null)) return values.every((one) => one === undefined);
  return writes.some(({ value }, index) => {
    const found = values[index];
    return value !== null && found !== undefined && Buffer.from(found).equals(value);
  });
}
