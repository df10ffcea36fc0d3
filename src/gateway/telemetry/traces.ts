import type { IncomingRequest } from '../http/message.ts';

/** The steps of a request that have spans of their own. */
export type TracedStep = 'decide' | 'attempt' | 'backend' | 'outcome';

/** Attributes of a step that are known when it begins. */
export interface TracedDetails {
  /** Name of the backend. */
  readonly backend?: string;
}

/** The result of a request for its trace. */
export interface TracedDecision {
  readonly decision: string;
  readonly decisionId: string;
  /** Name and canonical path, where the route names them. */
  readonly operation?: string;
  readonly object?: string;
  /** Name of the backend that it is for, `none` for none. */
  readonly backend: string;
  readonly status: number;
  /** Code of the error table, for a refusal. */
  readonly code: number | null;
}

export interface RequestTrace {
  /** The step that runs now, as W3C trace context: what a backend is to continue. */
  readonly traceparent: string;
  /** The step before this one has ended, and this one begins. */
  step(name: TracedStep, details?: TracedDetails): void;
  /** Says what the request came to. */
  judged(judged: TracedDecision): void;
  /** The request has ended, at once with the step that ran. */
  end(): void;
}

/** Follows requests through the gateway. Nothing here throws or waits. */
export interface Traces {
  /** A request that came; it continues the trace that its `traceparent` names. */
  begin(incoming: IncomingRequest, ids: { readonly requestId: string }): RequestTrace;
  /** Sends what was not sent yet, for a few seconds at most. */
  close(): Promise<void>;
}
