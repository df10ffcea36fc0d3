import type { JWTPayload } from 'jose';
import type { Issuer } from '../../policy/settings/issuer.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { encodeSegment } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';

const MAX_NAME = 512;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The principal of a verified token: its subject and its groups with the
 * prefixes of its issuer, percent-encoded like the segments of a path.
 * @throws CatalogError Unauthenticated for claims that name no subject
 */
export function tokenPrincipal(issuer: Issuer, payload: JWTPayload): Principal {
  const { subjectClaim, subjectPrefix, groupPrefix } = issuer;
  const subject = nameOf(payload[subjectClaim], subjectClaim, subjectPrefix);
  const groups = groupsOf(issuer, payload).map(
    (group) => `group:${nameOf(group, issuer.groupsClaim, groupPrefix)}`,
  );
  return {
    subject: `user:${subject}`,
    groups: [...new Set(groups)],
    roles: [],
    credential: { kind: 'token', issuer: issuer.issuer },
  };
}

/** No groups where the claim is absent; to skip one that is no text could lift a deny. */
function groupsOf({ groupsClaim }: Issuer, payload: JWTPayload): readonly unknown[] {
  const claim = Object.hasOwn(payload, groupsClaim) ? payload[groupsClaim] : undefined;
  if (claim === undefined && isElsewhere(payload, groupsClaim)) {
    throw refused(
      `the claim ${groupsClaim} of the token is a distributed claim, which is not supported`,
    );
  }
  if (claim === undefined || claim === null) return [];
  return Array.isArray(claim) ? claim : [claim];
}

/** Whether a claim is to be fetched from some other place (OpenID Connect Core section 5.6.2), as when groups are too many. */
function isElsewhere(payload: JWTPayload, claim: string): boolean {
  const names = payload['_claim_names'];
  return typeof names === 'object' && names !== null && Object.hasOwn(names, claim);
}

function nameOf(value: unknown, claim: string, prefix: string): string {
  if (typeof value !== 'string' || value === '') {
    throw refused(`the claim ${claim} of the token must be text that is not empty`);
  }
  if (value.length > MAX_NAME) {
    throw refused(`the claim ${claim} of the token holds more than ${MAX_NAME} characters`);
  }
  if (LONE_SURROGATE.test(value)) {
    throw refused(`the claim ${claim} of the token is not valid Unicode`);
  }
  return encodeSegment(`${prefix}${value}`);
}

function refused(sentence: string): CatalogError {
  return new CatalogError('Unauthenticated', sentence);
}
