import type { StoredKey } from '../../gateway/identity/keys.ts';
import type { Principal } from '../../protocol/principal.ts';

/** Where a desk looks. */
export interface DeskPlaces {
  /** The data folder. */
  readonly data: string;
  /** The audit log. */
  readonly audit: string;
  /** The policy folder. */
  readonly policies: string;
  /** Whether certificates of clients name subjects. */
  readonly certificates: boolean;
}

/** Who a question is about. */
export type NamedCaller = Pick<Principal, 'subject' | 'groups' | 'roles'>;

/** Work on policies, as a message. Digests are those of the policy in force; times are RFC 3339. */
export type DeskTask =
  | { readonly kind: 'policy'; readonly digest: string }
  | { readonly kind: 'history'; readonly digest: string; readonly since: string }
  | { readonly kind: 'unused'; readonly digest: string; readonly since: string }
  | {
      readonly kind: 'propose';
      readonly digest: string;
      /** The changed files: their new texts, and null for a file that is removed. */
      readonly files: Readonly<Record<string, string | null>>;
      readonly since: string;
    }
  | { readonly kind: 'rules'; readonly digest: string }
  | { readonly kind: 'rights'; readonly digest: string; readonly caller: NamedCaller }
  | { readonly kind: 'key-rights'; readonly digest: string; readonly key: string }
  | { readonly kind: 'object-rights'; readonly digest: string; readonly object: string };

/** A key without its hash. */
export type DeskKey = Omit<StoredKey, 'hash'>;

/** A task with its number, and the keys as they are now. */
export interface NumberedDeskTask {
  readonly id: number;
  readonly keys: readonly DeskKey[];
  readonly task: DeskTask;
}

/** An answer: JSON of a part of it or of its end, or an error of the table. */
export type DeskAnswer =
  | { readonly id: number; readonly part: string }
  | { readonly id: number; readonly json: string }
  | { readonly id: number; readonly error: { readonly name: string; readonly message: string } };
