import { TLSSocket, type PeerCertificate } from 'node:tls';
import type { Socket } from 'node:net';
import { CatalogError } from '../../protocol/errors.ts';
import { encodeSegment } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';

/** The name in a client certificate: the common name of its subject, or the URI of its alternative names. */
export type ClientSubject = 'cn' | 'san_uri';

/**
 * The certificate that the client of a connection has proven to own, if it is
 * one of a trusted authority and has not ended since; undefined otherwise.
 */
export function clientCertificate(socket: Socket): PeerCertificate | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerCertificate();
  return Date.parse(certificate.valid_to) > Date.now() ? certificate : undefined;
}

/**
 * The principal of a certificate: `user:` and its one name, percent-encoded.
 * The certificate must have been verified.
 * @throws CatalogError Unauthenticated when it has no such name, or several
 */
export function principalOfCertificate(
  certificate: Pick<PeerCertificate, 'subject' | 'subjectaltname'>,
  names: ClientSubject,
): Principal {
  const found = names === 'cn' ? commonNames(certificate) : uriNames(certificate);
  const [name] = found;
  const what = names === 'cn' ? 'common name' : 'URI among its alternative names';
  if (name === undefined || name === '') throw refused(`the client certificate has no ${what}`);
  if (found.length > 1) throw refused(`the client certificate has more than one ${what}`);
  if (/\p{Surrogate}/u.test(name))
    throw refused(`the ${what} of the client certificate is not text`);
  return {
    subject: `user:${encodeSegment(name)}`,
    groups: [],
    roles: [],
    credential: { kind: 'certificate', subject: name },
  };
}

/** Node gives a list where a subject has several. */
function commonNames({ subject }: Pick<PeerCertificate, 'subject'>): readonly string[] {
  const { CN } = subject as { readonly CN?: string | readonly string[] };
  if (CN === undefined) return [];
  return typeof CN === 'string' ? [CN] : CN;
}

/** A name that holds a quote, a comma or a control character is a JSON string. */
const ALTERNATIVE = /([^:,]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;

/** The URIs among the alternative names (RFC 5280 section 4.2.1.6), as Node writes these. @throws CatalogError */
function uriNames({ subjectaltname = '' }: Pick<PeerCertificate, 'subjectaltname'>): string[] {
  const found: string[] = [];
  const reader = new RegExp(ALTERNATIVE);
  while (reader.lastIndex < subjectaltname.length) {
    const [, kind, value = ''] = reader.exec(subjectaltname) ?? [];
    if (kind === undefined) throw refused(UNREADABLE);
    if (kind === 'URI') found.push(value.startsWith('"') ? unquoted(value) : value);
  }
  return found;
}

/** @throws CatalogError */
function unquoted(value: string): string {
  try {
    return String(JSON.parse(value));
  } catch {
    throw refused(UNREADABLE);
  }
}

const UNREADABLE = 'the alternative names of the client certificate cannot be read';

function refused(sentence: string): CatalogError {
  return new CatalogError('Unauthenticated', sentence);
}
