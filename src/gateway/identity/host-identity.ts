import { encodeSegment } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { IncomingRequest } from '../http/message.ts';
import { CONTEXT_KEY } from './key-document.ts';

/** A caller whom the surrounding program has authenticated. Names are plain text, without a prefix such as `user:`. */
export interface HostIdentity {
  readonly subject: string;
  readonly groups?: readonly string[];
  /** Roles of this request alone, as those of an API key. */
  readonly roles?: readonly string[];
  /** Context that the caller cannot choose: conditions and row filters may depend on it. Keys are in lower case. */
  readonly context?: Readonly<Record<string, string>>;
}

/** Identifies the caller of a request; undefined or null to leave that to the gateway's own credentials. */
export type IdentifyHost = (
  request: IncomingRequest,
) => HostIdentity | null | undefined | Promise<HostIdentity | null | undefined>;

const MEMBERS = ['subject', 'groups', 'roles', 'context'];
const MAX_NAME = 512;

/**
 * The principal of such a caller.
 * @throws TypeError for an identity that names nobody, or that has unknown or invalid members; the
 *   request is then an internal error, which names the member in the log only.
 */
export function hostPrincipal(identity: HostIdentity): Principal {
  const unknown = Object.keys(identity).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw invalid(`has the unknown member ${unknown}`);
  const { subject, groups = [], roles = [], context } = identity;
  return {
    subject: named('user', subject, 'subject'),
    groups: namesOf('group', groups),
    roles: namesOf('role', roles),
    credential: { kind: 'host' },
    ...(context === undefined ? {} : { context: contextOf(context) }),
  };
}

function namesOf(kind: 'group' | 'role', names: readonly string[]): readonly string[] {
  if (!Array.isArray(names)) throw invalid(`must have a list as ${kind}s`);
  return [...new Set(names.map((name) => named(kind, name, `${kind}s`)))];
}

function named(kind: string, name: unknown, member: string): string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) {
    throw invalid(`must have texts of 1 to ${MAX_NAME} characters as ${member}`);
  }
  if (/\p{Surrogate}/u.test(name)) throw invalid(`has ${member} that are not valid Unicode`);
  return `${kind}:${encodeSegment(name)}`;
}

function contextOf(context: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const entries = Object.entries(context).map(([key, value]) => {
    if (CONTEXT_KEY.test(key) && typeof value === 'string') return [key, value] as const;
    throw invalid(
      'must have texts as context, under keys of 1 to 64 lower-case letters, digits, dashes and underscores',
    );
  });
  return new Map(entries);
}

function invalid(what: string): TypeError {
  return new TypeError(`the identity that the surrounding program gave ${what}`);
}
