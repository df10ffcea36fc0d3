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
}

export interface Page {
  readonly requests: readonly Row[];
  readonly next: string | null;
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

export type TrafficKey = 'operation' | 'subject' | 'object' | 'rule' | 'decision';

export interface Traffic {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly steps: readonly Step[];
  readonly total: Step;
  readonly values: Readonly<Record<TrafficKey, readonly ValueCounts[]>>;
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
