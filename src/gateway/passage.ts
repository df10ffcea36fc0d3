import type { RequestBody } from './http/request-body.ts';
import type { IncomingRequest, OutgoingResponse } from './http/message.ts';
import type { Answered, Received } from './decision/steps.ts';
import type { RequestTrace } from './telemetry/traces.ts';

/** Fields that each step after the first adds. */
type Later = Omit<Answered, keyof Received>;

/** Fields of a request at its start. */
type Beginning = Omit<Received, 'described' | 'trace'>;

/**
 * A request on its way through the gateway. Each step adds what it finds out to this
 * one object, in which everything has its place from the beginning: to copy the
 * request at each step costs more than most steps do. What a step may rely on, the
 * types of `steps.ts` say.
 */
export class Passage implements Beginning {
  readonly incoming: IncomingRequest;
  readonly response: OutgoingResponse;
  readonly body: RequestBody;
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  readonly decisionId: string;
  readonly sourceIp: string;
  readonly arrivedMicros: number;
  readonly arrivedMillis: number;
  readonly signal: () => AbortSignal;
  readonly described: boolean = false;
  readonly trace: RequestTrace | undefined = undefined;
  readonly route: Later['route'] | undefined = undefined;
  readonly unknownDatabase: Later['unknownDatabase'] = undefined;
  readonly context: Later['context'] | undefined = undefined;
  readonly bodyContext: Later['bodyContext'] = undefined;
  readonly canaries: Later['canaries'] = undefined;
  readonly principal: Later['principal'] | undefined = undefined;
  readonly limits: Later['limits'] | undefined = undefined;
  readonly budget: Later['budget'] | undefined = undefined;
  readonly release: Later['release'] | undefined = undefined;
  readonly permit: Later['permit'] | undefined = undefined;
  readonly rule: Later['rule'] | undefined = undefined;
  readonly attempt: Later['attempt'] | undefined = undefined;
  readonly answer: Later['answer'] | undefined = undefined;

  constructor(beginning: Beginning) {
    this.incoming = beginning.incoming;
    this.response = beginning.response;
    this.body = beginning.body;
    this.requestId = beginning.requestId;
    this.clientRequestId = beginning.clientRequestId;
    this.decisionId = beginning.decisionId;
    this.sourceIp = beginning.sourceIp;
    this.arrivedMicros = beginning.arrivedMicros;
    this.arrivedMillis = beginning.arrivedMillis;
    this.signal = beginning.signal;
  }
}

/** The same request, of which a step has found out more. */
export function advance<Before extends Received, Found extends Partial<Answered>>(
  before: Before,
  found: Found,
): Before & Found {
  return Object.assign(before, found);
}
