import type { Answer } from '../protocol/backend.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import type { Recorded } from '../gateway/decision/steps.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { ServiceFacts } from './attention.ts';
import type { CatalogAccess } from './catalog-access.ts';
import type { IntegrityWork } from './integrity.ts';
import type { KeyAccess } from './keys.ts';
import type { PolicyDesk } from './policy/desk.ts';
import type { Trail } from './trail/trail.ts';

/** A call of the API, once it is allowed. */
export interface ApiCall {
  readonly gateway: Gateway;
  readonly trail: Trail;
  readonly keys: KeyAccess;
  readonly desk: PolicyDesk;
  readonly catalog: CatalogAccess;
  readonly integrity: IntegrityWork;
  readonly facts: ServiceFacts;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
  /** Whether the caller still has the credential and the right that the call was allowed with. */
  readonly isAllowed: () => Promise<boolean>;
}

/** An endpoint: the object that its caller must be allowed to read, and its answer. */
export interface Endpoint {
  /** Default: GET. */
  readonly method?: 'POST';
  readonly object: ObjectPath;
  readonly answer: (call: ApiCall) => Promise<Answer> | Answer;
}

/** An answer of the API, which nothing may keep. */
export function apiAnswer(body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return {
    status: 200,
    contentType: 'application/json',
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
    body,
  };
}
