import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../../../protocol/json.ts';
import { jsonAnswer } from '../call/answers.ts';
import {
  commitFilesOnce,
  tookNoEffect,
  type Committer,
} from '../../catalog/records/commit-loop.ts';
import { NotDurable, type Seal } from '../../catalog/records/seal.ts';
import type { Call, Handler } from '../call/handler.ts';
import type { Answer } from '../../../protocol/backend.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Action } from '../../../protocol/operations/operation.ts';
import { branchParameter } from '../call/parameters.ts';
import { integerField, textField, type Fields } from '../../base/fields.ts';
import {
  letGo,
  VersionPlan,
  type PlannedVersion,
  type VersionRequest,
} from '../../versions/managed/version-creation.ts';
import { finishNames, nameVersions } from '../../versions/managed/version-names.ts';
import type { Write } from '../../../store/store.ts';
import { lanceJudge } from '../../rules/lance-judge.ts';
import type { Gates } from '../../versions/managed/staged-manifest.ts';
import { adoptFirst } from '../call/adopted-table.ts';
import { versionEntry } from './table-versions.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { itemAt } from '../../base/items.ts';

/**
 * CreateTableVersion: the conditional commit decides who is next, then the staged
 * manifest gets its final name (wire contract, section 10.5).
 */
export function createVersion(parts: ManagedParts): Handler {
  return async (call) => {
    const request = versionRequest(call.request.object, call.body, branchParameter(call));
    const answerOf = (planned: readonly PlannedVersion[]) => created(call, itemAt(planned, 0));
    const seal = call.once.seal(answerOf);
    return answerOf(await committedVersions(waiting(parts, call), [request], seal, gatesOf(call)));
  };
}

/**
 * Checks that each version of a request must pass.
 * @param classes Actions that it counts as beside those of its manifest.
 */
export function gatesOf(call: Call, classes?: ReadonlySet<Action>): Gates {
  return { judge: lanceJudge(call.rules, classes), adopt: adoptFirst(call) };
}

/** The same parts, of which nothing is committed before the attempt is recorded. */
export function waiting(parts: ManagedParts, { recorded }: Call): ManagedParts {
  if (recorded === undefined) return parts;
  const { committer } = parts;
  const commit: Committer['commit'] = async (...change) => {
    await recorded().catch((error: unknown) => {
      throw new NotDurable(error);
    });
    return committer.commit(...change);
  };
  const catchUp = async (): Promise<void> => committer.catchUp?.();
  const settle: Committer['settle'] = async (...parameters) => committer.settle?.(...parameters);
  return { ...parts, committer: { commit, catchUp, settle } };
}

function created(call: Call, { table, record, summary }: PlannedVersion): Answer {
  return jsonAnswer(call, { version: versionEntry(table, record) }, { commit: summary });
}

/**
 * Makes staged versions the next ones of their lines, all or none, and gives their
 * manifests their final names.
 * @param more Further writes of the commit of a version.
 */
export async function committedVersions(
  parts: ManagedParts,
  requests: readonly VersionRequest[],
  seal: Seal<readonly PlannedVersion[]> | undefined,
  gates: Gates,
  more: (version: PlannedVersion) => readonly Write[] = () => [],
): Promise<readonly PlannedVersion[]> {
  const { storage, committer } = parts;
  const now = Date.now();
  const held = new Set<string>();
  const named = new Set<readonly PlannedVersion[]>();
  const name = async (versions: readonly PlannedVersion[]): Promise<void> => {
    if (!named.has(versions)) await nameVersions(storage, versions);
    named.add(versions);
  };
  try {
    const planned = await commitFilesOnce<readonly PlannedVersion[]>(
      { committer, seal },
      async () => {
        const plan = new VersionPlan(parts, now, held, gates);
        const versions: PlannedVersion[] = [];
        for (const request of requests) versions.push(await plan.add(request));
        const own = versions.flatMap((version) => version.writes);
        const writes = [...own, ...versions.flatMap(more)];
        if (own.length === 0) return { kind: 'done', result: versions };
        const checks = versions.flatMap((version) => version.checks);
        const made = { kind: 'commit', checks, writes, result: versions } as const;
        // Some of several names without the line would be a part of a batch to a rebuild.
        return versions.length > 1 ? made : { ...made, decided: () => name(versions) };
      },
    );
    await name(planned);
    await finishNames(storage, planned, held);
    await letGo(storage, held);
    return planned;
  } catch (error) {
    if (tookNoEffect(error)) await letGo(storage, held);
    throw error;
  }
}

/** Parses a version in a body or an entry of one. */
export function versionRequest(path: ObjectPath, fields: Fields, branch: string): VersionRequest {
  return {
    path,
    branch,
    version: integerField(fields, 'version') ?? 0n,
    manifestPath: textField(fields, 'manifest_path') ?? '',
    manifestSize: integerField(fields, 'manifest_size'),
    namingScheme: textField(fields, 'naming_scheme'),
    eTag: textField(fields, 'e_tag'),
    metadata: textsOf(fields, 'metadata'),
    id: randomUUID(),
  };
}

function textsOf(fields: Fields, name: string): Readonly<Record<string, string>> {
  const value = fields[name];
  if (value === undefined || !isJsonObject(value)) return {};
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
