import { LRUCache } from 'lru-cache';
import type { IssueCredentials, VendedCredentials, VendRequest } from './credential-vendor.ts';
import { sessionPolicy, tablePrefix } from './session-policy.ts';
import type { NewSession, SessionCredentials } from './sts-client.ts';

/** Sessions that are cached: some 4 KB each. */
const CACHED_SESSIONS = 4096;
/** Share of its duration that a cached session has left when it is handed out for the last time. */
const LEAST_SHARE = 1 / 3;
/** Share, and most ms, of the duration before its end at which a client asks for the next session. */
const REFRESH_SHARE = 1 / 4;
const REFRESH_MILLIS = 60_000;
/** Most characters of the name of a session. */
const NAME_LENGTH = 64;

/** Dependencies of sessions. */
export interface SessionParts {
  readonly assume: (session: NewSession) => Promise<SessionCredentials>;
  /** Options of a Lance client with which it reaches the store. */
  readonly optionsOf: (credentials: SessionCredentials) => Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** Sessions to keep. */
  readonly most?: number;
}

interface CachedSession {
  readonly credentials: Promise<VendedCredentials>;
  /** When it is handed out no more; undefined until its end is known. */
  freshUntil: number | undefined;
}

/**
 * Issues credentials of sessions. One session serves all requests of a subject for a table and an
 * access, until a third of its duration is left. The caller has checked the rights of each request.
 */
export function sessionCredentials({
  assume,
  optionsOf,
  clock = Date.now,
  most = CACHED_SESSIONS,
}: SessionParts): IssueCredentials {
  const cache = new LRUCache<string, CachedSession>({ max: most });
  const begin = (key: string, request: VendRequest): Promise<VendedCredentials> => {
    const began = clock();
    const session = { name: sessionName(request.subject), policy: policyOf(request) };
    const entry: CachedSession = {
      freshUntil: undefined,
      credentials: assume(session).then((issued) => {
        const duration = issued.untilMillis - began;
        entry.freshUntil = issued.untilMillis - duration * LEAST_SHARE;
        return vended(issued, optionsOf(issued), duration);
      }),
    };
    cache.set(key, entry);
    entry.credentials.catch(() => {
      if (cache.peek(key) === entry) cache.delete(key);
    });
    return entry.credentials;
  };
  return async (request) => {
    const { location, table, subject, access } = request;
    const key = JSON.stringify([subject, table, location, access]);
    const cached = cache.get(key);
    const isFresh = cached !== undefined && clock() < (cached.freshUntil ?? Infinity);
    return isFresh ? cached.credentials : begin(key, request);
  };
}

function policyOf({ location, access }: VendRequest): string {
  return sessionPolicy(tablePrefix(location), access);
}

function vended(
  { untilMillis }: SessionCredentials,
  options: Readonly<Record<string, string>>,
  duration: number,
): VendedCredentials {
  const refresh = Math.max(0, Math.min(REFRESH_MILLIS, Math.floor(duration * REFRESH_SHARE)));
  return {
    untilMillis,
    options: {
      ...options,
      expires_at_millis: String(untilMillis),
      refresh_offset_millis: String(refresh),
    },
  };
}

/** A subject as the name of a session, which has few characters. */
function sessionName(subject: string): string {
  return `arrowgate-${subject.replaceAll(/[^\w+=,.@-]/g, '-')}`.slice(0, NAME_LENGTH);
}
