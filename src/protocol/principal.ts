/** The credential of the caller, without its secret. */
export type Credential =
  | { readonly kind: 'key'; readonly id: string }
  | { readonly kind: 'token'; readonly issuer: string }
  | { readonly kind: 'certificate'; readonly subject: string }
  /** The program around the gateway authenticated the caller. */
  | { readonly kind: 'host' };

/** A right that narrows a credential: an action on the objects of a pattern. */
export interface KeyScope {
  readonly action: string;
  readonly pattern: string;
}

/** The caller: the names that policy lines may match, and the credential. */
export interface Principal {
  /** `user:<name>`, the name percent-encoded like a path segment. */
  readonly subject: string;
  /** `group:<name>` each. */
  readonly groups: readonly string[];
  /** `role:<name>` each: the roles of this credential alone. */
  readonly roles: readonly string[];
  readonly credential: Credential;
  /** When present, every decision must also lie within one of them. */
  readonly scopes?: readonly KeyScope[];
  /** Context of the credential, keys in lower case; it overrides what a request says. */
  readonly context?: ReadonlyMap<string, string>;
}
