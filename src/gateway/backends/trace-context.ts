const TRACE_PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** What of a request says where its trace stands. */
export interface Traced {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The span of this gateway, where it keeps a trace. */
  readonly traceparent?: string | undefined;
}

/**
 * Adds the trace of a request for the next hop (W3C Trace Context, section 3): the span of
 * this gateway where it keeps one, which continues the client's; else that of the
 * client, or one that begins here and whose id is that of the decision, so that the
 * audit log leads to it.
 * @param to The headers for the next hop.
 */
export function addTraceContext(
  to: Record<string, string>,
  { headers, traceparent: own }: Traced,
  decisionId: string,
): void {
  const { traceparent: sent, tracestate } = headers;
  if (typeof sent === 'string' && TRACE_PARENT.test(sent)) {
    to['traceparent'] = own ?? sent;
    if (typeof tracestate === 'string') to['tracestate'] = tracestate;
  } else {
    to['traceparent'] = own ?? begun(decisionId);
  }
}

/** A trace that begins here: a UUID without its hyphens, and the half of it as the id of its first span. */
function begun(id: string): string {
  const last = id.slice(19, 23) + id.slice(24);
  return `00-${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${last}-${last}-00`;
}
