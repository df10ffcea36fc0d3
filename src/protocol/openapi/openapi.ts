import { refusalResponses, requestBodyOf, responsesOf } from './openapi-answer.ts';
import { parametersOf } from './openapi-parameter.ts';
import { plainSchema } from './openapi-schema.ts';
import type { Operation, Route } from '../operations/operation.ts';
import { operationNames, operations } from '../operations/operations.ts';
import { models } from '../models/models.ts';

const description = [
  'A policy-enforcing gateway for table catalogs, with a catalog engine inside.',
  'Every path is also served with a slash at its end. A request of the LanceDB client, or with that',
  'slash, gets 404 for a missing table or index only and 409 for code 14 only; other refusals of',
  'those kinds are 400 to it, with the same code. Context travels in x-service-ctx-<key> headers.',
  'Where databases are configured, x-lancedb-database names the one in which all names of a request',
  'and of its answer begin, and x-lancedb-database-prefix a namespace below its root.',
].join(' ');

/**
 * The OpenAPI 3.1 document of the protocol, made from the operation table and the models.
 * @param version The version of the program that serves it.
 */
export function openApiDocument(version: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Arrowgate', version, description, license: { name: 'Apache-2.0' } },
    security: [{ apiKey: [] }, { bearer: [] }],
    paths: paths(),
    components: {
      schemas: schemas(),
      responses: refusalResponses(),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key or a JSON Web Token.' },
      },
    },
  };
}

function schemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(models).map(([name, schema]) => [name, plainSchema(schema)]),
  );
}

function paths(): Record<string, Record<string, object>> {
  const all: Record<string, Record<string, object>> = {};
  for (const name of operationNames) {
    const operation = operations[name];
    for (const route of operation.routes) {
      (all[route.path] ??= {})[route.method.toLowerCase()] = entryOf(operation, route);
    }
  }
  return all;
}

function entryOf(operation: Operation, route: Route): object {
  return {
    operationId: operationId(operation, route),
    summary: summaryOf(operation),
    tags: [route.path.split('/')[2]],
    parameters: parametersOf(operation, route.path),
    ...(route.method === 'POST' && { requestBody: requestBodyOf(operation) }),
    responses: responsesOf(operation),
  };
}

/** The operation's name; where it has further routes, these say which. */
function operationId({ name, routes }: Operation, route: Route): string {
  const at = routes.indexOf(route);
  return at === 0 ? name : `${name}_${at + 1}`;
}

/** "CreateTable" as "Create table". */
function summaryOf({ name }: Operation): string {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return `${words[0]!.toUpperCase()}${words.slice(1)}`;
}
