import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { IncomingRequest } from './http/message.ts';
import { targetPath } from './route.ts';
import type {
  TracedDecision,
  RequestTrace,
  TracedDetails,
  TracedStep,
  Traces,
} from './telemetry/traces.ts';

/** Parent of a trace. */
interface TraceParent {
  /** 32 and 16 hexadecimal digits in lower case, not all zero. */
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const SHAPE = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Reads a `traceparent` header (W3C Trace Context section 3.2); undefined for one that is not valid. */
export function parseTraceparent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = SHAPE.exec(text) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The `traceparent` of a span. */
function traceparentOf(span: {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}): string {
  const flags = (span.traceFlags & SAMPLED).toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** An exporter that counts what it could send and what not. */
class CountedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #counted: (result: 'exported' | 'lost', spans: number) => void;

  constructor(
    exporter: SpanExporter,
    counted: (result: 'exported' | 'lost', spans: number) => void,
  ) {
    this.#exporter = exporter;
    this.#counted = counted;
  }

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    this.#exporter.export(spans, (result) => {
      const isSent: boolean = result.error === undefined;
      this.#counted(isSent ? 'exported' : 'lost', spans.length);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

/** Spans that wait to be sent; what comes beyond is lost, never waited for. */
const QUEUE = 4096;
const BATCH = 512;
const DELAY_MILLIS = 1000;
export const SPANS_EXPORT_MILLIS = 5000;
/** How long a stop waits for a collector. */
export const SPANS_FLUSH_MILLIS = 3000;

interface OtlpOptions {
  /** Address of the collector; `/v1/traces` is added where it is not there. */
  readonly endpoint: string;
  readonly version: string;
  /** Called with the number of spans that were exported or lost. */
  readonly counted: (result: 'exported' | 'lost', spans: number) => void;
}

/** Sends traces to a collector over OTLP. A collector that is unavailable slows nothing. */
export function otlpTraces(options: OtlpOptions): Traces {
  const exporter = new OTLPTraceExporter({
    url: urlOf(options.endpoint),
    timeoutMillis: SPANS_EXPORT_MILLIS,
  });
  const processor = new BatchSpanProcessor(new CountedExporter(exporter, options.counted), {
    maxQueueSize: QUEUE,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: DELAY_MILLIS,
    exportTimeoutMillis: SPANS_EXPORT_MILLIS,
  });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'arrowgate',
      'service.version': options.version,
    }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('arrowgate', options.version);
  return {
    begin: (incoming, { requestId }) => new SpannedRequest(tracer, incoming, requestId),
    close: () => within(SPANS_FLUSH_MILLIS, provider.shutdown()),
  };
}

class SpannedRequest implements RequestTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #inside: Context;
  #step: Span | undefined;

  constructor(tracer: Tracer, incoming: IncomingRequest, requestId: string) {
    this.#tracer = tracer;
    const attributes = {
      'http.request.method': incoming.method ?? '',
      'url.path': targetPath(incoming.url ?? ''),
      'network.protocol.version': incoming.httpVersion,
      'arrowgate.request_id': requestId,
    };
    const options = { kind: SpanKind.SERVER, attributes };
    this.#span = tracer.startSpan(incoming.method ?? 'request', options, parentOf(incoming));
    this.#inside = trace.setSpan(ROOT_CONTEXT, this.#span);
  }

  get traceparent(): string {
    return traceparentOf((this.#step ?? this.#span).spanContext());
  }

  step(name: TracedStep, { backend }: TracedDetails = {}): void {
    this.#step?.end();
    this.#step = this.#tracer.startSpan(name, {}, this.#inside);
    if (backend !== undefined) this.#step.setAttribute('arrowgate.backend', backend);
  }

  judged({ decision, decisionId, operation, object, backend, status, code }: TracedDecision): void {
    this.#span.setAttributes({
      'arrowgate.decision': decision,
      'arrowgate.decision_id': decisionId,
      'arrowgate.backend': backend,
      'http.response.status_code': status,
      ...(operation === undefined ? {} : { 'arrowgate.operation': operation }),
      ...(object === undefined ? {} : { 'arrowgate.object': object }),
      ...(code === null ? {} : { 'arrowgate.error_code': code }),
    });
    if (operation !== undefined) this.#span.updateName(operation);
    if (status >= 500) this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#step?.end();
    this.#span.end();
  }
}

/** The context of the trace that the client began, if it began one. */
function parentOf({ headers }: IncomingRequest): Context {
  const parent = parseTraceparent(headers['traceparent']);
  if (parent === undefined) return ROOT_CONTEXT;
  const spanContext: SpanContext = {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

function urlOf(endpoint: string): string {
  return /\/v1\/traces\/?$/.test(endpoint) ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`;
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
