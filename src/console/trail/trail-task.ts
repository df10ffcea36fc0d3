import type { Principal } from '../../protocol/principal.ts';
import type { FilterText } from './filter-text.ts';

/** Work of the trail's thread, as a message. */
export type TrailTask =
  | {
      readonly kind: 'page';
      readonly filter: FilterText;
      readonly limit: number;
      /** Place of the last request before the page: its arrival in microseconds since 1970, and its decision. */
      readonly after?: { readonly began: string; readonly decisionId: string } | undefined;
      /** Decision that is left out. */
      readonly except: string;
      /** Whether a page without requests says which name may be meant. */
      readonly hints?: boolean;
    }
  | {
      readonly kind: 'traffic';
      readonly filter: FilterText;
      readonly steps: number;
      /** Milliseconds since 1970. */
      readonly now: number;
    }
  | {
      readonly kind: 'request';
      readonly decisionId: string;
      /** Its arrival, RFC 3339 with microseconds; without it the whole log is searched. */
      readonly began?: string | undefined;
    }
  | {
      /** A page as a part of an Arrow stream, whose dictionaries go on from part to part. */
      readonly kind: 'arrow';
      /** Name of the stream. */
      readonly stream: string;
      readonly page: Omit<Extract<TrailTask, { readonly kind: 'page' }>, 'kind'>;
    }
  | { readonly kind: 'key-makers' }
  | { readonly kind: 'chains' }
  | {
      readonly kind: 'attention';
      /** Milliseconds since 1970. */
      readonly now: number;
    }
  | {
      readonly kind: 'commits';
      /** Canonical path of a table. */
      readonly object: string;
      /** Maximum number of changes. */
      readonly limit: number;
    }
  | {
      readonly kind: 'who';
      /** Digest of the policy in force. */
      readonly digest: string;
      readonly keys: readonly Principal[];
      readonly action: string;
      readonly object: string;
    }
  | {
      readonly kind: 'explain';
      /** Digest of the policy in force. */
      readonly digest: string;
      readonly principal: {
        readonly subject: string;
        readonly groups: readonly string[];
        readonly roles: readonly string[];
      };
      readonly action: string;
      readonly object: string;
    };

/** A task with its number, and the folder of the audit log. */
export interface NumberedTask {
  readonly id: number;
  readonly folder: string;
  readonly task: TrailTask;
}

/** The answer: JSON, or an error of the table. */
export type TaskAnswer =
  | { readonly id: number; readonly json: string }
  | { readonly id: number; readonly error: { readonly name: string; readonly message: string } };
