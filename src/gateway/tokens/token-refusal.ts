import { errors } from 'jose';
import { CatalogError } from '../../protocol/errors.ts';
import { KeysUnavailable } from './key-set.ts';

type Sentence = (error: errors.JOSEError) => string;

/** What is told of a token that does not verify, by the code of the error. Nothing of the token is repeated. */
const sentences: Readonly<Record<string, Sentence>> = {
  ERR_JWT_EXPIRED: () => 'the token has expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: claimSentence,
  ERR_JOSE_ALG_NOT_ALLOWED: () => 'the algorithm of the token is not one that its issuer may use',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: () => 'the signature of the token is wrong',
  ERR_JWKS_NO_MATCHING_KEY: () => 'the token is signed by no key of its issuer',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: () =>
    'the token does not say by which key of its issuer it is signed',
};

/** The refusal of a token, from what verifying it threw. */
export function tokenRefusal(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  if (error instanceof KeysUnavailable) {
    return new CatalogError(
      'ServiceUnavailable',
      'the keys of the issuer of the token cannot be had now',
    );
  }
  const sentence = error instanceof errors.JOSEError ? sentences[error.code]?.(error) : undefined;
  return new CatalogError('Unauthenticated', sentence ?? 'the token cannot be verified');
}

function claimSentence(error: errors.JOSEError): string {
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : '';
  const missing = error instanceof errors.JWTClaimValidationFailed && error.reason === 'missing';
  if (missing) return `the token has no claim ${claim}`;
  if (claim === 'nbf') return 'the token is not valid yet';
  if (claim === 'aud') return 'the token is for another audience';
  return `the claim ${claim} of the token is not what it has to be`;
}
