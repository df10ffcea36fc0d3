import type { Operation, ResponseKind } from '../operations/operation.ts';
import { schemaReference } from './openapi-schema.ts';

const JSON_TYPE = 'application/json';
const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
const map = { type: 'object', additionalProperties: { type: 'string' } };

/** The body of a success by its kind; kinds without an entry have none. */
const contents: Readonly<Partial<Record<ResponseKind, object>>> = {
  map: { [JSON_TYPE]: { schema: map } },
  integer: { [JSON_TYPE]: { schema: { type: 'integer', format: 'int64' } } },
  text: {
    [JSON_TYPE]: { schema: { type: 'string' } },
    'text/plain': { schema: { type: 'string' } },
  },
  arrow: { 'application/vnd.apache.arrow.file': {} },
  stream: { [ARROW_STREAM]: {} },
  bytes: { 'application/octet-stream': {} },
};

/** The meaning of each refusal, by status. */
const refusals: Readonly<Record<number, string>> = {
  400: 'The request is not valid, or a commit rule refused it.',
  401: 'The caller is not identified.',
  403: 'The caller may not do this; the same whether or not the object exists.',
  404: 'Something that the request names does not exist.',
  406: 'The operation is not supported, here or for this kind of table.',
  409: 'The state of the catalog does not allow it.',
  429: 'A limit is reached.',
  500: 'Something went wrong inside.',
  503: 'The service, or what lies behind it, cannot answer now.',
};

const text = (description: string) => ({ description, schema: { type: 'string' } });

/** Headers of every answer. */
const everywhere = {
  'x-request-id': text('The id of the request, also the `instance` of an error.'),
  'x-arrowgate-decision': text('What was decided about the request.'),
  'x-arrowgate-decision-id': text('The decision in the audit log.'),
};

/** Headers of some refusals, by status. */
const special: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': text('How to identify oneself (RFC 9110).') },
  403: { 'x-arrowgate-reason': text('Why the request is denied.') },
  429: {
    'Retry-After': text('After how many seconds to try again (RFC 9110).'),
    RateLimit: text('What is left of the limit.'),
    'RateLimit-Policy': text('The limit.'),
  },
};

/** Every refusal, for the document's components. */
export function refusalResponses(): object {
  const all = Object.entries(refusals).map(([status, description]) => [
    nameOf(status),
    {
      description,
      headers: { ...everywhere, ...special[Number(status)] },
      content: { [JSON_TYPE]: { schema: schemaReference('ErrorResponse') } },
    },
  ]);
  return Object.fromEntries(all) as object;
}

function nameOf(status: number | string): string {
  return `Refusal${status}`;
}

/** The answers of an operation by status: its success and every refusal that can occur. */
export function responsesOf(operation: Operation): Record<string, object> {
  const refused = operation.refusals.map((status): [string, object] => [
    String(status),
    { $ref: `#/components/responses/${nameOf(status)}` },
  ]);
  return { [String(operation.success)]: successOf(operation), ...Object.fromEntries(refused) };
}

function successOf({ response, responseModel }: Operation): object {
  const content =
    responseModel === undefined
      ? contents[response]
      : { [JSON_TYPE]: { schema: schemaReference(responseModel) } };
  return {
    description: 'Done.',
    headers: everywhere,
    ...(content !== undefined && { content }),
  };
}

const bodies: Readonly<Record<Operation['body'], (operation: Operation) => object>> = {
  json: ({ request = '', schemaBody }) => ({
    content: {
      [JSON_TYPE]: { schema: schemaReference(request) },
      ...(schemaBody && { [ARROW_STREAM]: {} }),
    },
  }),
  map: () => ({ required: true, content: { [JSON_TYPE]: { schema: map } } }),
  arrow: () => ({ required: true, content: { [ARROW_STREAM]: {} } }),
  none: ({ request = '' }) => ({
    description: 'Nothing is needed; an object or null may be sent.',
    content: { [JSON_TYPE]: { schema: { anyOf: [schemaReference(request), { type: 'null' }] } } },
  }),
};

/** The request's body, for a verb that has one. */
export function requestBodyOf(operation: Operation): object {
  return bodies[operation.body](operation);
}
