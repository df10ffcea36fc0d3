import type { DecidedRecord } from '../../audit/decided/request.ts';
import { allowedByPolicy, type AuditPrincipal } from '../../audit/record/record.ts';
import { accessGroups } from '../../policy/lines/rights.ts';
import { MAIN_BRANCH } from '../../protocol/branch.ts';
import { parseCanonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { isOperationName, operations } from '../../protocol/operations/operations.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { RightsInput } from '../decision/needs.ts';
import type { RestrictedRequest } from '../decision/permit.ts';

/** A right that the backend required. */
interface RecordedRight {
  readonly action: Action;
  readonly object: ObjectPath;
  readonly branch: string | undefined;
}

/** The question that the policy had to decide, as far as a record has it. */
export interface RecordedQuestion {
  readonly principal: Principal;
  readonly asking: RightsInput;
  readonly rights: readonly RecordedRight[];
  /** Whether a proxy only described the request, and sent it to its backend itself. */
  readonly described: boolean;
}

/** As much of the request as decides whether restrictions refuse it. */
export function restrictedRequestOf({
  asking,
}: Pick<RecordedQuestion, 'asking'>): RestrictedRequest {
  const { operation, object } = asking;
  return { route: { operation: operation.name, object }, context: () => new Map() };
}

/** A record about which nothing can be decided, and why. */
interface Unanswerable {
  readonly why: string;
}

const undecided: Readonly<Partial<Record<DecidedRecord['decision'], string>>> = {
  unauthenticated: 'the caller was not identified',
  invalid: 'the request was invalid, so it was never decided',
  limited: 'the request was refused by a limit before it was decided',
  unavailable: 'the request could not be served, and may never have been decided',
};

/** The questions about the request of a record. */
export function recordedQuestion(record: DecidedRecord): RecordedQuestion | Unanswerable {
  const why = undecided[record.decision];
  if (why !== undefined) return { why };
  const { principal, operation, object, rights } = record;
  if (principal === null) return { why: 'the record names no principal' };
  if (operation === null || object === null) {
    return { why: 'the record names no operation or no object' };
  }
  const unknown = [operation, ...rights.map(({ action }) => action)].find(
    (name) => !isAction(name),
  );
  if (unknown !== undefined || !isOperationName(operation)) {
    return { why: `the operation ${unknown ?? operation} is not known to this version` };
  }
  return {
    principal: principalOf(principal, record.credential),
    asking: {
      operation: operations[operation],
      object: parseCanonicalPath(object),
      query: queryOf(record, operations[operation].query, operations[operation].modeIn === 'query'),
    },
    rights: rights.flatMap(({ action, branch, objects }) =>
      objects.map((path) => ({
        action: action as Action,
        object: parseCanonicalPath(path),
        branch: branch ?? undefined,
      })),
    ),
    described: record.backend === null,
  };
}

function isAction(name: string): name is Action {
  return isOperationName(name) || accessGroups.some((group) => group === name);
}

function principalOf(
  { subject, groups, roles, scopes }: AuditPrincipal,
  id: string | null,
): Principal {
  const credential = { kind: 'key', id: id ?? '' } as const;
  return { subject, groups, roles, credential, ...(scopes ? { scopes } : {}) };
}

/** The query parameters that affect decisions. */
function queryOf(
  { mode, branch, decision }: DecidedRecord,
  parameters: readonly string[],
  hasMode: boolean,
): ReadonlyMap<string, readonly string[]> {
  const query = new Map<string, readonly string[]>();
  if (hasMode && mode !== null) query.set('mode', [mode]);
  // An allowed request that names no branch, in its body neither, was decided on main; a
  // denied one may have been denied before its body was read.
  const meant = branch ?? (allowedByPolicy(decision) ? MAIN_BRANCH : null);
  if (parameters.includes('branch') && meant !== null) query.set('branch', [meant]);
  return query;
}
