import type { Answer } from '../../protocol/backend.ts';
import type { BudgetLimits } from '../../protocol/budget.ts';
import type { Principal } from '../../protocol/principal.ts';
import type { Canary } from '../../protocol/restrictions.ts';
import type { RouteMatch } from '../../protocol/route.ts';
import type { RequestBody } from '../http/request-body.ts';
import type { IncomingRequest, OutgoingResponse } from '../http/message.ts';
import type { LimitState } from './throttled.ts';
import type { SnapshotPermit } from './permit.ts';
import type { RequestTrace } from '../telemetry/traces.ts';

/** Shows that the attempt of a request is recorded, or is on its way. A class with a private field: nothing else passes for it. */
export class Attempt {
  readonly #decisionId: string;
  readonly #settled: Promise<void> | undefined;
  #failed = false;

  /** @param written Rejects when the record could not be written. */
  constructor(decisionId: string, written?: Promise<void>) {
    this.#decisionId = decisionId;
    this.#settled = written?.catch(() => {
      this.#failed = true;
    });
  }

  get decisionId(): string {
    return this.#decisionId;
  }

  /** Whether writing the record has failed; then nothing took effect. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Resolves when the record was written or has failed; undefined if that needs no waiting. */
  get settled(): Promise<void> | undefined {
    return this.#settled;
  }
}

/** A route of the operation table, as a request named it. */
export type OperationRoute = Extract<RouteMatch, { kind: 'operation' }>;

/** A request with its ids; nothing else of it is verified. */
export interface Received {
  readonly incoming: IncomingRequest;
  readonly response: OutgoingResponse;
  readonly body: RequestBody;
  readonly requestId: string;
  /** The same, when the client sent it. */
  readonly clientRequestId?: string | undefined;
  readonly decisionId: string;
  readonly sourceIp: string;
  /** When it arrived: microseconds since 1970, and the same moment on the clock of `performance.now()`. */
  readonly arrivedMicros: number;
  readonly arrivedMillis: number;
  /** True for a request that a proxy describes and will send elsewhere itself. */
  readonly described?: boolean;
  /** Aborted when the client disconnects; created on first use. */
  readonly signal: () => AbortSignal;
  /** The trace context of the request; absent if tracing is disabled. */
  readonly trace?: RequestTrace | undefined;
}

/** Its operation and object are known. */
export interface Routed extends Received {
  readonly route: OperationRoute;
  /** The database that its headers name, if no database has that name. */
  readonly unknownDatabase?: string | undefined;
  /** The context of the headers. */
  readonly context: ReadonlyMap<string, string>;
  /** The context of the body, once a backend has read it. */
  readonly bodyContext?: ReadonlyMap<string, string> | undefined;
  /** The canaries that the body names, once a backend has read it. */
  readonly canaries?: readonly Canary[] | undefined;
}

/** The caller is identified. */
export interface Identified extends Routed {
  readonly principal: Principal;
}

/** The limits let it through. */
export interface Limited extends Identified {
  /** State of the request's limits. */
  readonly limits: readonly LimitState[];
  /** The resource budget of the request. */
  readonly budget: BudgetLimits;
  /** Releases the concurrency slots of the request; a second call does nothing. */
  readonly release: () => void;
}

/** The policy allows it. A permit exists for nothing else: only `authorize` makes one that is handed on. */
export interface Authorized extends Limited {
  readonly permit: SnapshotPermit;
  /** The line that allowed the operation. */
  readonly rule: string | null;
}

/** Its attempt is in the audit log. Only the recorder makes an `Attempt`. */
export interface Recorded extends Authorized {
  readonly attempt: Attempt;
}

/** The backend answered. */
export interface Answered extends Recorded {
  readonly answer: Answer;
}

/** The known fields of a request that was refused before its answer. */
export type RefusedRequest = Received & Partial<Omit<Recorded, keyof Received>>;
