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
  /** Its context includes the body's entries; headers take precedence. */
  readonly request: CatalogRequest;
  readonly permit: Permit;
  /** `{}` for an empty body, `null` and Arrow bodies. */
  readonly body: Body;
  /** SHA-256 of a long body's text, which identifies repeated requests. */
  readonly bodyDigest?: string | undefined;
  /**
   * For staged operations: resolves when the change may take effect; to be awaited before the
   * commit. Absent if that happened before.
   */
  readonly recorded?: (() => Promise<void>) | undefined;
  /** For reads with a cacheable answer: reports its basis. */
  readonly reportBasis?: ((basis: Basis) => void) | undefined;
  /** Makes a change idempotent: its seal is part of each commit. */
  readonly once: Once;
  /** Threads for long expressions; this thread if absent. */
  readonly threads?: FormulaThreads | undefined;
  /** Adopts versions that Lance clients wrote without the catalog; absent if nothing is adopted. */
  readonly adoption?: Pick<Adoption, 'beforeRead' | 'beforeCommit'> | undefined;
  /** Judges each commit beforehand. */
  readonly rules: CommitJudge;
}

/** Basis of an answer that is the same for all callers with the same restrictions: records, the request and immutable data. */
export interface Basis {
  readonly records: readonly ReadCheck[];
  /**
   * The newest known version, for clients that send what they have seen; null if irrelevant,
   * undefined if unknown.
   */
  readonly newest: bigint | null | undefined;
}

/**
 * Answers one operation.
 * @throws CatalogError for a refusal.
 */
export type Handler = (call: Call) => Promise<Answer>;

/** The supported operations. */
export type HandlerTable = Readonly<Partial<Record<OperationName, Handler>>>;
