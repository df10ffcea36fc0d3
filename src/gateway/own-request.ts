import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../protocol/identifier.ts';
import type { OperationName } from '../protocol/operations/operation-name.ts';
import { operations } from '../protocol/operations/operations.ts';
import { admit } from './admit.ts';
import { authorize } from './authorize.ts';
import { conclude } from './conclude.ts';
import type {
  Authorized,
  Limited,
  OperationRoute,
  Received,
  Recorded,
  RefusedRequest,
} from './decision/steps.ts';
import type { Gateway } from './gateway.ts';
import { identify } from './identify.ts';
import { limit } from './limit.ts';
import { refusal, success, type RequestOutcome } from './outcome.ts';
import { advance } from './passage.ts';
import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import type { Shadow } from './shadow.ts';

/** A request beside the protocol that is decided as an operation on an object. */
export interface OwnRequest {
  readonly operation: OperationName;
  readonly object: ObjectPath;
  /** Goes into the audit record. */
  readonly context: ReadonlyMap<string, string>;
  /**
   * Called before the caller is identified; may put a credential into the headers.
   * @throws CatalogError
   */
  readonly prepare: () => Promise<void> | void;
  /** Called after the attempt is recorded. @throws CatalogError for a refusal */
  readonly answer: (recorded: Recorded) => Promise<Answer> | Answer;
}

/** Answers such a request on the way of those of the protocol: identified, limited, authorized and recorded. */
export async function handleOwn(
  gateway: Gateway,
  received: Received,
  own: OwnRequest,
): Promise<void> {
  const outcome = await pass(gateway, received, own);
  try {
    await conclude(gateway, outcome);
  } finally {
    outcome.request.release?.();
  }
}

async function pass(
  gateway: Gateway,
  received: Received,
  own: OwnRequest,
): Promise<RequestOutcome> {
  let request: RefusedRequest = received;
  try {
    const admitted = (request = admit(received, gateway.drain.refusing));
    const routed = (request = advance(admitted, { route: routeOf(own), context: own.context }));
    await own.prepare();
    const identified = (request = await identify(routed, gateway.identification));
    const policy = gateway.policy.current();
    const limited = (request = await limit(identified, policy, gateway));
    const scanning = gateway.scans.begin(limited);
    const authorized = (request = authorizeWhole(scanning, policy, gateway.shadow));
    const recorded = (request = await gateway.recorder.attempt(authorized));
    return success(advance(recorded, { answer: await own.answer(recorded) }));
  } catch (error) {
    return refusal(request, error);
  }
}

/**
 * As `authorize`, for an object that is shown as a whole: no restriction may bind the caller on it.
 * @throws as `authorize` does; CatalogError PermissionDenied
 */
export function authorizeWhole(
  limited: Limited,
  policy: PolicySnapshot,
  shadow?: Shadow,
): Authorized {
  const authorized = authorize(limited, policy, shadow);
  const [name] = authorized.permit.restrictionNames;
  if (name === undefined) return authorized;
  throw new CatalogError(
    'PermissionDenied',
    `the restriction ${name} shows ${limited.principal.subject} a part of ${canonicalPath(limited.route.object)} only: query that table instead`,
  );
}

const nothing: OperationRoute['query'] = new Map();

function routeOf({ operation, object }: OwnRequest): OperationRoute {
  return {
    kind: 'operation',
    operation: operations[operation],
    dialect: 'namespace',
    object,
    delimiter: '$',
    query: nothing,
    parameters: new Map(),
  };
}
