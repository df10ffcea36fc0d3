import type { OperationName } from './operation-name.ts';
import type { Operation, ResponseKind, Route } from './operation.ts';

/** What a row has to say; the rest follows from it. */
export interface RowSpec extends Pick<Operation, 'access' | 'object' | 'mutates' | 'staged'> {
  /** `POST /v1/…`, the documented one first. */
  readonly routes: readonly string[];
  /** Parameters beside `delimiter`. */
  readonly query?: readonly string[];
  readonly repeatable?: readonly string[];
  readonly headers?: readonly string[];
  /** JSON unless said otherwise. */
  readonly body?: Operation['body'];
  readonly schemaBody?: true;
  /** `<name>Request` unless said otherwise. */
  readonly request?: string;
  /** JSON, a `<name>Response`, unless said otherwise. */
  readonly response?: ResponseKind;
  readonly responseModel?: string;
  /** 200 unless said otherwise. */
  readonly success?: Operation['success'];
  /** By `mutates` unless said otherwise. */
  readonly refusals?: readonly number[];
  readonly modes?: Operation['modes'];
  readonly modeIn?: Operation['modeIn'];
  readonly choices?: Operation['choices'];
  readonly objectsInBody?: string;
  readonly extension?: boolean;
}

/** Refusals of a listing that names nothing that could be missing. */
export const rootRefusals: readonly number[] = [400, 401, 403, 406, 429, 500, 503];

/** Refusals of a read. */
const readRefusals: readonly number[] = [400, 401, 403, 404, 406, 429, 500, 503];

/** Refusals of a change, and of a read that a table without data cannot answer (code 19). */
export const stateRefusals: readonly number[] = [400, 401, 403, 404, 406, 409, 429, 500, 503];

/** One row of the operation table. */
export function row(name: OperationName, spec: RowSpec): Operation {
  const {
    routes,
    query = [],
    response = 'json',
    body = 'json',
    modes,
    modeIn,
    objectsInBody,
  } = spec;
  return {
    name,
    access: spec.access,
    object: spec.object,
    mutates: spec.mutates,
    ...(spec.staged && { staged: true }),
    routes: routes.map(parseRoute),
    query: ['delimiter', ...query],
    repeatable: spec.repeatable ?? [],
    headers: spec.headers ?? [],
    body,
    ...(spec.schemaBody && { schemaBody: true }),
    ...requestOf(name, spec),
    response,
    ...(response === 'json' && { responseModel: spec.responseModel ?? `${name}Response` }),
    success: spec.success ?? 200,
    refusals: spec.refusals ?? (spec.mutates ? stateRefusals : readRefusals),
    choices: spec.choices ?? {},
    ...(modes !== undefined && { modes }),
    ...(modeIn !== undefined && { modeIn }),
    ...(objectsInBody !== undefined && { objectsInBody }),
    extension: spec.extension ?? false,
  };
}

/** A body that is JSON has a model, and so has one that need not be there but may be. */
function requestOf(name: string, spec: RowSpec): { request?: string } {
  const mayHaveJson = spec.body !== 'arrow' && spec.body !== 'map';
  const takesBody = spec.routes.some((route) => route.startsWith('POST '));
  return mayHaveJson && takesBody ? { request: spec.request ?? `${name}Request` } : {};
}

function parseRoute(text: string): Route {
  const [method, path = ''] = text.split(' ');
  return { method: method === 'GET' ? 'GET' : 'POST', path };
}
