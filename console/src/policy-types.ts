/** A finding in a policy file. */
export interface PolicyFinding {
  readonly kind: 'fault' | 'warning';
  readonly file: string;
  readonly line: number | null;
  readonly text: string;
}

export interface PolicyCase {
  readonly line: number;
  readonly subject: string;
  readonly action: string;
  readonly object: string;
  readonly expect: string;
  readonly because: string;
  /** Why it fails; null if it comes out as expected. */
  readonly fault: string | null;
}

/** The policy folder, and the digest in force. */
export interface ShownPolicy {
  readonly digest: string;
  readonly folder_digest: string | null;
  readonly names: readonly string[];
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly findings: readonly PolicyFinding[];
  readonly cases: readonly PolicyCase[];
}

export interface PolicyEvent {
  readonly digest: string | null;
  readonly since: string | null;
  readonly last: string | null;
  readonly requests: number;
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  readonly state: string;
  readonly findings: string | null;
  readonly by: string | null;
}

/** What the service found about a proposed change, by stage. */
export interface Judged {
  readonly check?: {
    readonly findings: readonly PolicyFinding[];
    readonly cases: readonly PolicyCase[];
    readonly patch: string;
    readonly refused: boolean;
  };
  readonly access?: {
    readonly changes: readonly {
      readonly kind: 'gains' | 'loses';
      readonly caller: string;
      readonly object: string;
      readonly actions: readonly string[];
      readonly before: string | null;
      readonly after: string | null;
    }[];
    readonly total: number;
    readonly notes: readonly string[];
  };
  readonly replay?: {
    readonly requests: number;
    readonly same: number;
    readonly lost: number;
    readonly gained: number;
    readonly total: number;
    readonly changed: readonly {
      readonly kind: 'lose' | 'gain';
      readonly subject: string;
      readonly action: string;
      readonly object: string;
      readonly requests: number;
      readonly last: string;
      readonly example: string;
      readonly was: { readonly rule: string | null };
      readonly now: { readonly rule: string | null; readonly reason: string };
      readonly partly: boolean;
    }[];
    readonly skipped: readonly {
      readonly why: string;
      readonly requests: number;
      readonly example: string;
    }[];
  };
}

export interface Restriction {
  readonly name: string;
  readonly rule: string;
  readonly rows: string | null;
  readonly columns: Readonly<Record<string, string>>;
  readonly canary?: string;
  readonly tables?: readonly string[];
}

interface Named {
  readonly name: string;
  readonly rule: string;
}

/** What a policy says of one caller. */
export interface CallerRights {
  readonly subject: string;
  readonly key: string | null;
  readonly state: string | null;
  readonly roles: readonly { readonly name: string; readonly from: readonly string[] }[];
  readonly rights: readonly {
    readonly object: string;
    readonly effect: 'allow' | 'deny';
    readonly actions: readonly string[];
    readonly rule: string;
    readonly text: string | null;
  }[];
  readonly conditional: readonly { readonly rule: string; readonly text: string }[];
  readonly restrictions: readonly Restriction[];
  readonly limits: readonly Named[];
  readonly exempt: readonly Named[];
  readonly listed: boolean;
}

/** Who may do what with an object. */
export interface ObjectRights {
  readonly object: string;
  readonly callers: readonly {
    readonly subject: string;
    readonly key: string | null;
    readonly rights: readonly { readonly action: string; readonly rule: string | null }[];
    readonly restrictions: readonly Restriction[];
  }[];
}

export interface Unused {
  readonly requests: number;
  readonly lines: readonly { readonly rule: string; readonly text: string }[];
  readonly keys: readonly { readonly id: string; readonly subject: string }[];
  readonly roles: readonly string[];
  readonly unknown: readonly string[];
}

export interface RulesInForce {
  readonly policy_digest: string;
  readonly rules: readonly {
    readonly name: string;
    readonly rule: string;
    readonly text: string;
    readonly tables: readonly string[];
    readonly enforced: boolean;
    readonly requires: readonly string[];
  }[];
  readonly limits: readonly {
    readonly name: string;
    readonly rule: string;
    readonly text: string;
    readonly per: string;
    readonly rate: { readonly text: string; readonly burst: number } | null;
    readonly concurrency: number | null;
    readonly budget: readonly string[];
    readonly subjects: readonly string[] | null;
    readonly objects: readonly string[];
  }[];
}

/** A past commit that a rule would refuse, or that cannot be judged. */
interface PastCommit {
  readonly branch: string;
  readonly version: number | string;
  readonly time: string;
  readonly rule: string | null;
  readonly place: string | null;
  readonly fault: string;
}

/** The commits of a table, judged by the rules in force. */
export interface CheckedPast {
  readonly rules: readonly string[];
  readonly commits: number;
  readonly refused: readonly PastCommit[];
  readonly unjudged: readonly PastCommit[];
  readonly total: { readonly refused: number; readonly unjudged: number };
}

/** Dropped tables that can be brought back. */
export interface DroppedTables {
  readonly total: number;
  readonly dropped: readonly {
    readonly id: string;
    readonly table: string;
    readonly dropped: string;
    readonly until: string;
    readonly may_undrop: boolean;
  }[];
}

/** Rates that are in use now. */
export interface LimitLevels {
  readonly levels: readonly {
    readonly limit: string;
    readonly rule: string;
    readonly per: string;
    readonly value: string;
    readonly left: number | null;
    readonly burst: number | null;
    readonly full_ms: number;
    readonly in_flight: number | null;
    readonly concurrency: number | null;
  }[];
  readonly total: number;
}
