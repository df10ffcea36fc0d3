const TRACE_PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The headers of W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** What of a request says where its trace stands. */
export interface Traced {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The span of this gateway, where it keeps a trace. */
  readonly traceparent?: string;
}

/**
 * The trace of a request for the next hop (W3C Trace Context, section 3): the span of
 * this gateway where it keeps one, which continues the client's; else that of the
 * client, or one that begins here and whose id is that of the decision, so that the
 * audit log leads to it.
 */
export function traceContextOf(
  { headers, traceparent: own }: Traced,
  decisionId: string,
): TraceContext {
  const { traceparent: sent, tracestate } = headers;
  if (typeof sent === 'string' && TRACE_PARENT.test(sent)) {
    const traceparent = own ?? sent;
    return typeof tracestate === 'string' ? { traceparent, tracestate } : { traceparent };
  }
  const id = decisionId.replaceAll('-', '');
  return { traceparent: own ?? `00-${id}-${id.slice(16)}-00` };
}
