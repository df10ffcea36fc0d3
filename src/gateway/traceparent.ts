/** Where a trace goes on. */
export interface TraceParent {
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
export function traceparentOf(span: {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}): string {
  const flags = (span.traceFlags & SAMPLED).toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}
