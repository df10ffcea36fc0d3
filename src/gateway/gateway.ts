import type { Logger } from 'pino';
import type { PolicySnapshot } from '../policy/decide/snapshot.ts';
import type { Backend } from '../protocol/backend.ts';
import type { BudgetLimits } from '../protocol/budget.ts';
import type { Databases } from '../protocol/database.ts';
import type { Aim } from './backends/backend-router.ts';
import type { RemoteBackend } from './backends/remote-backend.ts';
import type { Guarded } from './backends/remote-guard.ts';
import type { Quota } from '../store/quota.ts';
import type { BodyIds } from './decision/needs.ts';
import type { Drain } from './drain.ts';
import type { Identification } from './identity/identification.ts';
import type { KeyRing } from './identity/key-ring.ts';
import type { LingerLimits } from './http/linger.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Networks } from './http/networks.ts';
import type { Recorder } from './record.ts';
import type { Scans } from './scans.ts';
import type { Shadow } from './shadow.ts';
import type { Tokens } from './identity/tokens.ts';
import type { Traces } from './telemetry/traces.ts';
import type { Received } from './decision/steps.ts';

/** The source of the policy in force. */
interface PolicySource {
  current(): PolicySnapshot;
  /** Why a newer state of the files was refused. */
  refused(): string | undefined;
  /** Why old decisions may not be explained later, if they may not. */
  weakness?(): string | undefined;
}

/** Everything that a request meets on its way. */
export interface Gateway {
  readonly keys: KeyRing;
  readonly tokens: Tokens;
  readonly identification: Identification;
  /** Networks of trusted proxies, whose `X-Forwarded-*` headers are used. */
  readonly trustedProxies: Networks;
  readonly policy: PolicySource;
  /** Databases that a header may name; if absent, the header is ignored. */
  readonly databases?: Databases;
  /** A policy that is tried out beside it. */
  readonly shadow?: Shadow;
  /** Counters of the limits of the policy. */
  readonly quota: Quota;
  /** Default budget of a request, if no limit of the policy sets one. */
  readonly budget: BudgetLimits;
  /** The scans that run. */
  readonly scans: Scans;
  readonly recorder: Recorder;
  readonly backend: Backend;
  /** The remote backends among those of `backend`. */
  readonly remotes?: readonly RemoteBackend[];
  /** The one of them that a route is for; undefined where it is another backend. */
  readonly remoteFor?: (aim: Aim) => Guarded | undefined;
  /** Whether a catalog that asks at `/authorize` and is no remote backend refuses ids in bodies that differ from the route. */
  readonly bodyIds: BodyIds;
  readonly log: Logger;
  readonly linger: LingerLimits;
  /** Version of the program, for `/openapi.json`. */
  readonly version: string;
  readonly drain: Drain;
  /** Counts requests; nothing is counted without. */
  readonly metrics?: Metrics;
  /** Follows requests; nothing is followed without. */
  readonly traces?: Traces;
  /** Freezes API keys of callers who ask for canaries; nothing is frozen without. */
  readonly freezer?: KeyFreezer;
  /** Answers requests under `/console/`; without it, nothing is there. */
  readonly console?: ConsoleSite;
  /** Checks of `/readyz` besides those of every gateway. */
  readonly parts?: readonly ReadinessPart[];
}

/** Freezes API keys. */
export interface KeyFreezer {
  /** Resolves when the key is refused everywhere, or when the failure is logged. Never rejects. */
  freeze(key: string, cause: FreezeCause): Promise<void>;
}

/** Why a key is frozen. */
export interface FreezeCause {
  /** Names of the restrictions whose canaries were asked for. */
  readonly restrictions: readonly string[];
  /** Of the request that asked for one. */
  readonly decisionId: string;
  readonly object: string;
}

/** The review console: its pages, its sessions and its API. */
export interface ConsoleSite {
  handle(gateway: Gateway, received: Received): Promise<void>;
}

/** One thing the gateway cannot do without, or can do without for a while. */
export interface ReadinessPart {
  readonly part: string;
  /** State of the gateway when this part fails. */
  readonly without: 'degraded' | 'unavailable';
  /** The fault of the part; undefined if it has none. */
  readonly fault: () => string | undefined | Promise<string | undefined>;
  /** A note for administrators that is not a fault. */
  readonly remark?: () => string | undefined;
}
