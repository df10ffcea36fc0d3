/** Who signed in. */
export interface Me {
  readonly subject: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  readonly credential: { readonly kind: string; readonly id?: string; readonly issuer?: string };
  readonly version: string;
}

/** A 64-bit integer: a text beyond 2^53. */
export type Integer = number | string;

/** Changes of a request to a table. */
export interface Commit {
  readonly kind: string;
  readonly baseVersion: Integer | null;
  readonly version: Integer | null;
  readonly rowsAdded: Integer;
  readonly rowsRemoved: Integer;
  readonly rowsChanged?: Integer | null;
  readonly columns?: readonly string[];
  readonly statement?: string | null;
  readonly schemaChanged: boolean;
  readonly rules: readonly string[];
}

/** What a request read of a table. */
export interface Read {
  readonly columns: readonly string[];
  readonly rows: Integer;
  readonly version: Integer;
  readonly filter: string | null;
}

/** A request of the log in a list. */
export interface Row {
  readonly began: string;
  readonly phase: 'attempt' | 'outcome';
  readonly duration_us: Integer | null;
  readonly request_id: string;
  readonly decision_id: string;
  readonly subject: string | null;
  readonly credential: string | null;
  readonly source_ip: string | null;
  readonly user_agent: string | null;
  readonly operation: string | null;
  readonly object: string | null;
  readonly objects: readonly string[];
  readonly mode: string | null;
  readonly branch: string | null;
  readonly backend: string | null;
  readonly decision: string;
  readonly rule: string | null;
  readonly policy_digest: string | null;
  readonly status: number | null;
  readonly code: number | null;
  readonly bytes_in: Integer | null;
  readonly bytes_out: Integer | null;
  readonly commit: Commit | null;
  readonly restrictions: readonly string[];
  readonly read: Read | null;
  readonly instance: string;
  readonly sequence: Integer;
  /** What reviewers think of it; absent in the record of its own page. */
  readonly review?: Review | null;
}

/** The newest mark of a request. */
export interface Review {
  readonly mark: 'seen' | 'flagged' | 'unreviewed';
  readonly note: string;
  readonly by: string | null;
  readonly time: string;
}

export interface Page {
  readonly requests: readonly Row[];
  readonly next: string | null;
  /** Which name may be meant, where nothing was found. */
  readonly hint: string | null;
}

interface RoleSource {
  readonly name: string;
  readonly from: readonly string[];
}

export interface NearMiss {
  readonly rule: string;
  readonly text: string;
}

/** A request with the reason of its decision. */
export interface RequestDetails {
  readonly review: Review | null;
  readonly began: string;
  readonly record: Row & {
    readonly principal: {
      readonly subject: string;
      readonly groups: readonly string[];
      readonly roles: readonly string[];
    } | null;
    readonly context: Readonly<Record<string, string>>;
    readonly rights: readonly {
      readonly action: string;
      readonly branch: string | null;
      readonly objects: readonly string[];
    }[];
    readonly hash: string;
  };
  readonly explanation: {
    readonly why: string | null;
    readonly nearest: NearMiss | null;
    readonly line: string | null;
    readonly policy_kept: boolean;
  };
  readonly excerpt: {
    readonly rule: string;
    readonly number: number;
    readonly first: number;
    readonly lines: readonly string[];
  } | null;
  readonly roles: readonly RoleSource[];
}

export interface Step {
  readonly requests: number;
  readonly denied: number;
  readonly failed: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly median: number | null;
  readonly slow: number | null;
}

interface ValueCounts {
  readonly value: string | null;
  readonly requests: number;
  readonly denied: number;
  readonly bytesOut: number;
}

export type TrafficKey = 'operation' | 'subject' | 'object' | 'rule' | 'decision' | 'backend';

export interface Traffic {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly steps: readonly Step[];
  readonly total: Step;
  readonly values: Readonly<Record<TrafficKey, readonly ValueCounts[]>>;
}

/** An instance of the log. */
export interface Chain {
  readonly instance: string;
  readonly sealed: Integer;
  readonly segments: number;
  readonly lines: number;
  readonly bytes: number;
  readonly from: string | null;
  readonly to: string | null;
}

/** A verification that the log has a record of. */
interface EarlierVerification {
  readonly began: string;
  readonly subject: string | null;
  readonly decision_id: string;
  readonly findings: number;
  readonly records: number;
  readonly to: string | null;
}

export interface Integrity {
  readonly chains: readonly Chain[];
  readonly verifications: readonly EarlierVerification[];
}

/** The result of a verification. */
export interface Verification {
  readonly instances: number;
  readonly records: number;
  readonly unsigned: number;
  readonly to: string | null;
  readonly findings: readonly {
    readonly kind: string;
    readonly instance: string;
    readonly sequence: number;
    readonly text: string;
  }[];
  readonly notes: readonly string[];
  readonly unknown: readonly string[];
  readonly keys: readonly { readonly id: string; readonly why: string }[];
  /** Places of checkpoints. */
  readonly places: readonly { readonly name: string; readonly checkpoints: number }[];
  /** The end of each chain, and its newest checkpoint. */
  readonly heads: readonly {
    readonly instance: string;
    readonly count: number;
    readonly hash: string;
    readonly signed: number;
    readonly time: string | null;
    readonly key: string | null;
  }[];
}

/** A line of a verification that goes on. */
export type VerificationRun =
  | { readonly progress: string }
  | { readonly result: Verification }
  | { readonly error: string };

interface NamedKey {
  readonly id: string;
  readonly subject: string;
  readonly expires: string | null;
}

/** Whatever needs attention besides the parts of readiness. */
export interface AttentionFacts {
  readonly gateways: readonly {
    readonly gateway: string;
    readonly digest: string;
    readonly own: boolean;
  }[];
  readonly keys_ending: readonly NamedKey[];
  readonly keys_frozen: readonly NamedKey[];
  readonly certificate_ends: string | null;
  readonly verification: EarlierVerification | null;
  readonly canaries: readonly {
    readonly began: string;
    readonly subject: string | null;
    readonly object: string | null;
    readonly canary: string;
    readonly decision_id: string;
  }[];
  readonly flagged: number;
  readonly more_flagged: boolean;
}

export interface ServiceState {
  readonly version: string;
  readonly policy: { readonly digest: string };
  readonly ready: {
    readonly status: 'ok' | 'degraded' | 'unavailable';
    readonly parts?: readonly {
      readonly part: string;
      readonly status: string;
      readonly why?: string;
    }[];
  };
}

/** A column, as the protocol describes it. */
export interface Field {
  readonly name: string;
  readonly nullable?: boolean;
  readonly type: {
    readonly type: string;
    readonly length?: number;
    readonly fields?: readonly Field[];
  };
}

export interface Described {
  readonly version?: Integer;
  readonly schema?: { readonly fields: readonly Field[] };
}

export interface Stats {
  readonly num_rows: Integer;
  readonly total_bytes: Integer;
}

export interface Versions {
  readonly versions: readonly {
    readonly version: Integer;
    readonly timestamp_millis?: number;
  }[];
  readonly page_token?: string;
}

export interface Branches {
  readonly branches: Readonly<Record<string, { readonly parentVersion?: Integer }>>;
}

export interface Tags {
  readonly tags: Readonly<Record<string, { readonly version: Integer }>>;
}

export interface Indices {
  readonly indexes: readonly {
    readonly index_name: string;
    readonly index_type?: string;
    readonly columns: readonly string[];
    readonly num_unindexed_rows?: Integer;
  }[];
}

export interface Jobs {
  readonly jobs: readonly {
    readonly job_id: string;
    readonly table: string;
    readonly job_type: string;
    readonly state: string;
    readonly created_at_millis: number;
  }[];
}

/** Changes of a table in the log. */
export interface Commits {
  readonly commits: readonly Row[];
  readonly more: boolean;
}

/** Who is allowed an action on an object. */
export interface Who {
  readonly found: readonly {
    readonly subject: string;
    readonly key: string | null;
    readonly rule: string | null;
    readonly restrictions: readonly string[];
  }[];
}

export interface Key {
  readonly id: string;
  readonly subject: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly last_used: string | null;
  readonly state: string;
}

export interface KeyPage {
  readonly keys: readonly Key[];
  readonly total: number;
  readonly next: number | null;
  readonly may_manage: boolean;
}

/** Who made a key, and the request or command in the log. */
export interface KeyMaker {
  readonly subject: string | null;
  readonly began: string;
  readonly decision_id: string;
}

/** A new key with its text, which is shown once. */
export interface MadeKey {
  readonly id: string;
  readonly subject: string;
  readonly expires: string | null;
  readonly key: string;
}

export interface Explained {
  readonly verdict: {
    readonly allowed: boolean;
    readonly rule: string | null;
    readonly reason: string;
  };
  readonly nearest: NearMiss | null;
  readonly line: string | null;
  readonly roles: readonly RoleSource[];
  readonly policy_digest: string;
}
