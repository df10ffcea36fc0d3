import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/protocol/openapi/openapi.ts';
import { models } from '../../../src/protocol/models/models.ts';
import { operationNames, operations } from '../../../src/protocol/operations/operations.ts';
import type { Operation } from '../../../src/protocol/operations/operation.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: { readonly type: string; readonly enum?: readonly string[] };
}

interface Content {
  readonly [type: string]: { readonly schema?: object };
}

interface Entry {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly $ref?: string; readonly content?: Content }>
  >;
}

interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Entry>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<
      Record<string, { readonly headers: object; readonly content: Content }>
    >;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const text = JSON.stringify(openApiDocument('1.2.3'));
const document = JSON.parse(text) as Document;

const entries = Object.entries(document.paths).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, entry]) => ({ path, verb, entry })),
);
const routes = operationNames.flatMap((name) =>
  operations[name].routes.map(({ method, path }) => ({ path, verb: method.toLowerCase(), name })),
);

function operationAt(path: string, verb: string): Operation {
  const found = routes.find((route) => route.path === path && route.verb === verb);
  if (found === undefined) throw new Error(`${verb} ${path} is not in the table`);
  return operations[found.name];
}

/** What a reference in the document leads to. */
function resolve(reference: string): unknown {
  const parts = reference.replace(/^#\//, '').split('/');
  return parts.reduce<unknown>(
    (place, part) =>
      typeof place === 'object' && place !== null
        ? (place as Record<string, unknown>)[part]
        : undefined,
    document,
  );
}

describe('the OpenAPI document', () => {
  it('is a document of version 3.1 with its two ways to be identified', () => {
    expect([document.openapi, document.info.title, document.info.version]).toEqual([
      '3.1.0',
      'Arrowgate',
      '1.2.3',
    ]);
    expect(document.security).toEqual([{ apiKey: [] }, { bearer: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      bearer: { type: 'http', scheme: 'bearer' },
    });
  });

  it('has the routes of the operation table and no others', () => {
    const found = entries.map(({ path, verb }) => `${verb} ${path}`);
    expect(found.sort()).toEqual(routes.map(({ path, verb }) => `${verb} ${path}`).sort());
  });

  it('has the models and no others, and each reference leads somewhere', () => {
    expect(Object.keys(document.components.schemas).sort()).toEqual(Object.keys(models).sort());
    const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map((found) => found[1]!);
    expect(references.length).toBeGreaterThan(500);
    expect(references.filter((reference) => resolve(reference) === undefined)).toEqual([]);
  });

  it('names each operation once', () => {
    const ids = entries.map(({ entry }) => entry.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(operationNames.filter((name) => !ids.includes(name))).toEqual([]);
  });

  it('holds schemas of JSON alone', () => {
    expect(text).not.toMatch(/"(?:expects|~\w+)":|"width":"|bigint/);
    const types = [...text.matchAll(/"type":"(\w+)"/g)].map((found) => found[1]!);
    const known = [
      'object',
      'array',
      'string',
      'integer',
      'number',
      'boolean',
      'null',
      'apiKey',
      'http',
    ];
    expect(types.filter((type) => !known.includes(type))).toEqual([]);
  });
});

describe.each(entries)('$verb $path of the document', ({ path, verb, entry }) => {
  const operation = operationAt(path, verb);

  it('has the parameters of its row', () => {
    const by = (place: string) =>
      entry.parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
    expect(by('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]));
    expect(by('query')).toEqual(operation.query);
    expect(by('header')).toEqual(operation.headers);
    for (const parameter of entry.parameters) {
      expect(parameter.required).toBe(parameter.in === 'path');
      expect(parameter.description).toMatch(/\.$/);
      expect(parameter.schema.enum ?? []).toEqual(operation.choices[parameter.name] ?? []);
    }
  });

  it('has exactly the statuses of its row', () => {
    const expected = [operation.success, ...operation.refusals].map(String);
    expect(Object.keys(entry.responses).sort()).toEqual(expected.sort());
    for (const status of operation.refusals) {
      const reference = entry.responses[String(status)]?.$ref ?? '';
      expect(resolve(reference)).toMatchObject({
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorResponse' } } },
      });
    }
  });

  it('has the models of its row', () => {
    const success = entry.responses[String(operation.success)]?.content;
    expect(success === undefined).toBe(operation.response === 'none');
    if (operation.responseModel !== undefined) {
      expect(success?.['application/json']?.schema).toEqual({
        $ref: `#/components/schemas/${operation.responseModel}`,
      });
    }
    expect(entry.requestBody === undefined).toBe(verb === 'get');
    const sent = JSON.stringify(entry.requestBody ?? {});
    const model = verb === 'get' ? undefined : operation.request;
    expect([...sent.matchAll(/schemas\/(\w+)/g)].map((found) => found[1])).toEqual(
      model === undefined ? [] : [model],
    );
  });
});
