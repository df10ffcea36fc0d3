import { setTimeout as sleep } from 'node:timers/promises';
import { CatalogError } from '../../../protocol/errors.ts';
import { isFullDisk } from '../../../storage/storage-error.ts';
import { NotDurable, AlreadyDone, type Seal } from './seal.ts';
import type { Check, CommitResult, Write } from '../../../store/store.ts';

/** Number of attempts before a change fails with a request to retry. */
export const COMMIT_ATTEMPTS = 24;
/** The longest pause between two attempts, in milliseconds. */
const LONGEST_PAUSE = 64;

/** Called as soon as the store has a change. The commit waits for it and fails with its error. */
export type Decided = () => Promise<void>;

/** Applies conditional commits; each is journaled before it resolves. */
export interface Committer {
  /** @param decided What follows from a change that is in the store, done while it is written down. */
  commit(
    checks: readonly Check[],
    writes: readonly Write[],
    decided?: Decided,
  ): Promise<CommitResult>;
  /** Journals what a commit of unknown outcome may have changed, before its effect is reported. */
  catchUp?(): Promise<void>;
  /**
   * Resolves when the change that gave a key its current value is in the journal, of any process. Called
   * before anything is built on the value, or given its final name.
   * @param value The value that was read; required for keys whose value changes, such as heads.
   */
  settle?(key: string, value?: Uint8Array): Promise<void>;
}

/** What to do about what was read: nothing more, or a commit that holds only if it is still so. */
export type Plan<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | {
      readonly kind: 'commit';
      readonly checks: readonly Check[];
      readonly writes: readonly Write[];
      readonly result: Result;
      /** Not called for a commit of unknown outcome, though that may have taken effect. */
      readonly decided?: Decided | undefined;
      /** Called with the failed check; throws if planning again cannot help. */
      readonly lost?: (check: number) => void | Promise<void>;
    };

/** Dependencies of changes that are made once. */
interface Sealed<Result> {
  readonly committer: Committer;
  readonly seal: Seal<Result> | undefined;
}

/**
 * Makes a change: reads and plans, commits under the condition that what was
 * read still holds, and plans again when it does not.
 * @param by What commits; with a seal, that is committed with the change, or by itself
 * where nothing has to be changed.
 * @param plan Reads what is there. `doubt` says that an earlier attempt may have
 * taken effect after all, so the plan must look for its traces.
 * @throws AlreadyDone when the seal is broken;
 * @throws CatalogError ConcurrentModification when others were first too often;
 * ServiceUnavailable when it cannot be known whether the change took effect.
 */
export async function commitLoop<Result>(
  by: Committer | Sealed<Result>,
  plan: (uncertain: boolean) => Promise<Plan<Result>>,
): Promise<Result> {
  const { committer, seal } = 'committer' in by ? by : { committer: by, seal: undefined };
  let reason: string | undefined;
  for (let attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
    const uncertain = reason !== undefined;
    const next = sealed(await planned(plan, uncertain), uncertain ? 'commits' : 'all', seal);
    if (next.kind === 'done') {
      if (uncertain) await committer.catchUp?.();
      return next.result;
    }
    const outcome = await committer.commit(next.checks, next.writes, next.decided);
    if (outcome.kind === 'committed') return next.result;
    if (outcome.kind === 'conflict') await next.lost?.(outcome.check);
    if (outcome.kind === 'unknown') reason = outcome.reason;
    await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE));
  }
  throw givenUp(reason);
}

/**
 * The same for a change that names files, which go when it is refused: once the outcome of an attempt
 * was unknown no refusal says that nothing took effect, for that attempt may do so yet.
 */
export async function commitFilesOnce<Result>(
  by: Committer | Sealed<Result>,
  plan: (uncertain: boolean) => Promise<Plan<Result>>,
): Promise<Result> {
  let doubted = false;
  try {
    return await commitLoop(by, (uncertain) => {
      doubted = uncertain;
      return plan(uncertain);
    });
  } catch (error) {
    throw doubted && !(error instanceof AlreadyDone) ? unsure(error) : error;
  }
}

/** A plan that failed for a full disk was not committed, unless an earlier attempt may have been. */
async function planned<Result>(
  plan: (uncertain: boolean) => Promise<Plan<Result>>,
  uncertain: boolean,
): Promise<Plan<Result>> {
  try {
    return await plan(uncertain);
  } catch (error) {
    throw uncertain || !isFullDisk(error) ? error : new NotDurable(error);
  }
}

/**
 * The plan with its seal. What is found in effect after doubt has its seal already:
 * then only commits get one.
 */
function sealed<Result>(
  plan: Plan<Result>,
  which: 'all' | 'commits',
  seal: Seal<Result> | undefined,
): Plan<Result> {
  if (seal === undefined || (plan.kind === 'done' && which === 'commits')) return plan;
  const change = plan.kind === 'commit' ? plan : { checks: [], writes: [] };
  const lost = plan.kind === 'commit' ? plan.lost : undefined;
  const own = seal.checks.length;
  return {
    kind: 'commit',
    checks: [...seal.checks, ...change.checks],
    writes: [...change.writes, ...seal.writes(plan.result)],
    result: plan.result,
    decided: plan.kind === 'commit' ? plan.decided : undefined,
    lost: (check) => (check < own ? seal.broken() : lost?.(check - own)),
  };
}

/** Only a refusal says that nothing took effect; after anything else what was written must stay. */
export function tookNoEffect(error: unknown): boolean {
  if (error instanceof NotDurable) return true;
  if (error instanceof AlreadyDone) return !error.mine;
  return error instanceof CatalogError && error.row.name !== 'ServiceUnavailable';
}

function unsure(error: unknown): CatalogError {
  if (error instanceof CatalogError && !tookNoEffect(error)) return error;
  const why = error instanceof CatalogError ? `: ${error.message}` : '';
  const said = `it is not known whether the change was made, and it cannot be made again${why}`;
  return Object.assign(new CatalogError('ServiceUnavailable', said), { cause: error });
}

function givenUp(reason: string | undefined): CatalogError {
  if (reason === undefined) {
    return new CatalogError(
      'ConcurrentModification',
      `the catalog was changed by others ${COMMIT_ATTEMPTS} times meanwhile`,
    );
  }
  return new CatalogError(
    'ServiceUnavailable',
    `it is not known whether the change was made: ${reason}`,
  );
}
