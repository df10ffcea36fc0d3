/** Where the public keys of an issuer are: at an address, or in a file (an absolute path). */
export type KeySource =
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'file'; readonly path: string };

/** Somebody whose tokens are believed (contract section 5, `issuers.yaml`). */
export interface Issuer {
  readonly name: string;
  /** Exactly the claim `iss` of its tokens. */
  readonly issuer: string;
  /** The claim `aud` of a token must hold one of these. */
  readonly audiences: readonly string[];
  readonly keys: KeySource;
  /** Names of JSON Web Algorithms (RFC 7518); all of them asymmetric. */
  readonly algorithms: readonly string[];
  readonly subjectClaim: string;
  readonly groupsClaim: string;
  /** What stands before a subject in the name of the principal, before it is percent-encoded. */
  readonly subjectPrefix: string;
  readonly groupPrefix: string;
  /** By how much the clocks may differ, in seconds. */
  readonly clockTolerance: number;
}
