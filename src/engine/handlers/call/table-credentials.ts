import { restrictionReasons } from '../../../protocol/restriction-reasons.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import type { VendSummary } from '../../../protocol/vend-summary.ts';
import { wireLocation } from '../../../storage/object-key.ts';
import {
  Unvendable,
  type Access,
  type VendedCredentials,
  type VendingStore,
  type VendingStores,
} from '../../../storage/vending/credential-vendor.ts';
import { flagField } from '../../base/fields.ts';
import type { TableRecord } from '../../format/records.ts';
import type { Call } from './handler.ts';
import { notApplied } from './restricted-calls.ts';

/** Credentials for an answer, and what the audit record says of them. */
export interface TableCredentials {
  readonly answer: { readonly storage_options?: VendedCredentials['options'] };
  readonly notes: { readonly vended?: VendSummary };
}

const NONE: TableCredentials = { answer: {}, notes: {} };
const FLAG = 'vend_credentials';

/** Whether a request demands credentials, so that it is refused where there are none. */
export function demandsCredentials({ body }: Call): boolean {
  return flagField(body, FLAG, false);
}

/**
 * Credentials of the caller for a table in an object store. Lance clients open a table without saying
 * that they want any, so that they get them unless the request says otherwise.
 * @throws CatalogError PermissionDenied and Unsupported if the request demands what is not possible
 */
export async function tableCredentials(
  call: Call,
  { id, location }: Pick<TableRecord, 'id' | 'location'>,
  stores: VendingStores | undefined,
): Promise<TableCredentials> {
  const store = location === null ? undefined : stores?.(location);
  if (location === null || store === undefined || !mayWant(call)) return NONE;
  try {
    const access = accessOf(call);
    const { subject } = call.permit.principal;
    const { object } = call.request;
    const table = `${id} ${canonicalPath(object)}`;
    const issued = await issuerOf(store, call)({ location, table, subject, access });
    const { untilMillis, options } = issued;
    const until = untilMillis === null ? null : new Date(untilMillis).toISOString();
    const prefix = wireLocation(location);
    const vended = { prefix, access: untilMillis === null ? 'all' : access, until };
    return { answer: { storage_options: options }, notes: { vended } };
  } catch (error) {
    const refused = error instanceof Unvendable ? unsupported(call, error.message) : error;
    if (!(refused instanceof CatalogError) || demandsCredentials(call)) throw refused;
    return NONE;
  }
}

/** A LanceDB client of the service reads no files, so it gets credentials on demand alone. */
function mayWant(call: Call): boolean {
  return flagField(call.body, FLAG, call.request.dialect !== 'lancedb');
}

/** @throws CatalogError Unsupported if the store issues no credentials */
function issuerOf({ name, issue }: VendingStore, call: Call): NonNullable<VendingStore['issue']> {
  if (issue !== null) return issue;
  throw unsupported(
    call,
    `the object store ${name} issues no credentials: its key vend.role_arn is not configured`,
  );
}

function unsupported({ request }: Call, why: string): CatalogError {
  return new CatalogError(
    'Unsupported',
    `there are no credentials for ${canonicalPath(request.object)}: ${why}`,
  );
}

/**
 * What the caller may do with the whole table, as a store can enforce it.
 * @throws CatalogError PermissionDenied
 */
function accessOf({ request, permit }: Call): Access {
  const { object } = request;
  const restrictions = permit.restrictionsOn(object);
  if (restrictions !== null) {
    throw notApplied(request, permit, restrictions, restrictionReasons.credentials());
  }
  const reads = permit.holdsAlways('QueryTable', object);
  const commits = permit.holdsAlways('CreateTableVersion', object);
  if (reads) return commits ? 'read and commit' : 'read';
  if (commits) return 'commit';
  throw new CatalogError(
    'PermissionDenied',
    `${permit.principal.subject} may neither QueryTable nor CreateTableVersion on ${canonicalPath(object)} under all conditions (branch, address, time and context), and an object store checks none of them: no credentials are issued`,
  );
}
