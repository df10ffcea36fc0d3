const TRACE_PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The headers of W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/**
 * The trace of a request for the next hop (W3C Trace Context, section 3): that of the
 * client, or one that begins here and whose id is that of the decision, so that the
 * audit log leads to it.
 */
export function traceContextOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  decisionId: string,
): TraceContext {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent === 'string' && TRACE_PARENT.test(traceparent)) {
    return typeof tracestate === 'string' ? { traceparent, tracestate } : { traceparent };
  }
  const id = decisionId.replaceAll('-', '');
  return { traceparent: `00-${id}-${id.slice(16)}-00` };
}
