import type { Answer, CatalogRequest } from '../../../protocol/backend.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { FormulaThreads } from '../../base/statement.ts';
import type { Adoption } from '../../versions/managed/adoption.ts';
import type { Once } from '../../once/once.ts';
import type { ReadCheck } from '../../../store/store.ts';
import type { CommitJudge } from '../../rules/commit-judge.ts';

/** A request whose JSON body is read and checked. An Arrow body is still in the request, untouched. */
export interface Call<Body = Record<string, JsonValue>> {
  /** Its context holds the body's entries too, below those of the headers. */
  readonly request: CatalogRequest;
  readonly permit: Permit;
  /** `{}` when nothing was sent, when `null` was, and for Arrow bodies. */
  readonly body: Body;
  /** SHA-256 of the text of a long body, by which a repeated request is recognised. */
  readonly bodyDigest?: string | undefined;
  /**
   * Of an operation that is `staged`: resolves when its change may take effect, which
   * is to be awaited before its commit. Absent where that was awaited before.
   */
  readonly recorded?: (() => Promise<void>) | undefined;
  /** Of a read whose answer may be kept: to be told what it was made of. */
  readonly reportBasis?: ((basis: Basis) => void) | undefined;
  /** How its change is made once: whatever commits takes its seal along. */
  readonly once: Once;
  /** Where long expressions are evaluated; all are here when absent. */
  readonly threads?: FormulaThreads | undefined;
  /** What adopts versions that Lance clients wrote without the catalog; absent where nothing is adopted. */
  readonly adoption?: Pick<Adoption, 'beforeRead' | 'beforeCommit'> | undefined;
  /** Asked about whatever is committed, before it is. */
  readonly rules: CommitJudge;
}

/**
 * What an answer was made of that would be the same for whoever may ask: records, the request,
 * and what never changes.
 */
export interface Basis {
  readonly records: readonly ReadCheck[];
  /**
   * The newest version that it knows of, for clients that say which they have seen; null where
   * that makes no difference, undefined where it has to be found out.
   */
  readonly newest: bigint | null | undefined;
}

/**
 * Answers one operation.
 * @throws CatalogError for a refusal.
 */
export type Handler = (call: Call) => Promise<Answer>;

/** The operations that are built. */
export type HandlerTable = Readonly<Partial<Record<OperationName, Handler>>>;
