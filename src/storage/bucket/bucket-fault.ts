/** What an error of a request to an object store means. */
export type BucketFault =
  /** There is no object of that key. */
  | 'missing'
  /** The condition of the request does not hold: the object exists, or was replaced. */
  | 'precondition'
  /** The object has no bytes at that range. */
  | 'range'
  /** There is no such multipart upload: it was completed or abandoned. */
  | 'upload'
  /** The store was not reached, failed or is too busy: the same request may succeed later. */
  | 'transient'
  /** The store refuses the gateway until an operator acts: credentials, rights, certificate, bucket. */
  | 'refused'
  /** A mistake of this program. */
  | 'unexpected';

/** Error codes of object stores, whatever the status. */
const codes: Readonly<Partial<Record<BucketFault, readonly string[]>>> = {
  missing: ['NoSuchKey', 'NotFound'],
  upload: ['NoSuchUpload'],
  precondition: ['PreconditionFailed'],
  range: ['InvalidRange'],
  refused: ['NoSuchBucket', 'CredentialsProviderError', 'NotImplemented'],
  transient: [
    // A concurrent request for the same key, which says nothing about what is there.
    'ConditionalRequestConflict',
    'OperationAborted',
    // The client has corrected its clock by the time of this answer.
    'RequestTimeTooSkewed',
    'InternalError',
    'RequestTimeout',
    'ServiceUnavailable',
    'SlowDown',
    'ThrottlingException',
    'AbortError',
    'TimeoutError',
    'IncompleteBody',
  ],
};

const byCode: ReadonlyMap<string, BucketFault> = new Map(
  Object.entries(codes).flatMap(([fault, names]) =>
    names.map((name) => [name, fault as BucketFault] as const),
  ),
);

const byStatus: Readonly<Record<number, BucketFault>> = {
  404: 'missing',
  408: 'transient',
  412: 'precondition',
  416: 'range',
  429: 'transient',
};

/** Codes of a TLS connection whose certificate is not accepted. */
const CERTIFICATE = /^(?:UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_)/;

/** Classifies an error of the client of object stores. */
export function faultOf(error: unknown): BucketFault {
  if (!(error instanceof Error)) return 'unexpected';
  const named = byCode.get(error.name);
  if (named !== undefined) return named;
  const status = statusOf(error);
  if (status !== undefined) {
    return byStatus[status] ?? (status >= 500 ? 'transient' : 'refused');
  }
  const code = systemCode(error);
  if (code === undefined) return 'unexpected';
  return CERTIFICATE.test(code) ? 'refused' : 'transient';
}

/** An error as a short text: `SlowDown (503)`, `ECONNREFUSED`. Never has a credential. */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const status = statusOf(error);
  if (status !== undefined) {
    const named = /^[A-Za-z]{3,60}$/.test(error.name) && error.name !== 'Error';
    return named ? `${error.name} (${status})` : `status ${status}`;
  }
  if (error.name === 'CredentialsProviderError') return 'no credentials were found';
  if (['AbortError', 'TimeoutError'].includes(error.name)) return 'no answer in time';
  return systemCode(error) ?? error.name;
}

/** Status of the answer that an error is about; undefined if there was none. */
function statusOf(error: Error): number | undefined {
  const { $metadata, $response } = error as {
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly $response?: { readonly statusCode?: number };
  };
  return $metadata?.httpStatusCode ?? $response?.statusCode;
}

/** Code of the system or of Node for an error of a connection. */
function systemCode(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** An answer whose body ended early, or is not what was requested. */
export class CutBody extends Error {
  readonly code = 'CUT_BODY';

  constructor(message: string) {
    super(message);
    this.name = 'CutBody';
  }
}
