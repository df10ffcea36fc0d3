/** Credentials that a request got, for the audit record; never the credentials themselves. */
export interface VendSummary {
  /** URI of the folder that they open. */
  readonly prefix: string;
  /** What they allow there: `read`, `commit`, `read and commit`, or `all` for credentials of the store itself. */
  readonly access: string;
  /** RFC 3339; null for credentials that do not end. */
  readonly until: string | null;
}
