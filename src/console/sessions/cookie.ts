import type { IncomingRequest } from '../../gateway/http/message.ts';
import { SESSION_MILLIS } from './sessions.ts';
import type { Transport } from './transport.ts';

const PLAIN = 'arrowgate-console';
/** Browsers take a cookie with this prefix only over TLS, for this host and for all of its paths. */
const SECURE = `__Host-${PLAIN}`;

/** The session that a request names; undefined if it names none. */
export function cookieOf({ headers }: IncomingRequest, { secure }: Transport): string | undefined {
  const name = secure ? SECURE : PLAIN;
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([key]) => key === name)?.[1];
}

/** Whether a request names a session, by whatever transport. */
export function hasCookie({ headers }: IncomingRequest): boolean {
  return (headers.cookie ?? '').includes(`${PLAIN}=`);
}

/** `Set-Cookie` of a session. */
export function sessionCookie(value: string, transport: Transport): string {
  return cookie(value, transport, Math.floor(SESSION_MILLIS / 1000));
}

/** `Set-Cookie` that removes the cookie of a session. */
export function noCookie(transport: Transport): string {
  return cookie('', transport, 0);
}

function cookie(value: string, { secure }: Transport, seconds: number): string {
  const place = secure ? `${SECURE}=${value}; Path=/; Secure` : `${PLAIN}=${value}; Path=/console/`;
  return `${place}; HttpOnly; SameSite=Strict; Max-Age=${seconds}`;
}
