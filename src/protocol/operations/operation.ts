import type { OperationName } from './operation-name.ts';

/** The given fields of a row; the others are derived. */
interface RowSpec extends Pick<Operation, 'access' | 'object' | 'mutates' | 'staged'> {
  /** Default: refused. */
  readonly restricted?: Operation['restricted'];
  /** `POST /v1/…`, the documented one first. */
  readonly routes: readonly string[];
  /** Parameters beside `delimiter`. */
  readonly query?: readonly string[];
  readonly repeatable?: readonly string[];
  readonly headers?: readonly string[];
  /** Default: JSON. */
  readonly body?: Operation['body'];
  readonly schemaBody?: true;
  /** Default: `<name>Request`. */
  readonly request?: string;
  /** Default: JSON, a `<name>Response`. */
  readonly response?: ResponseKind;
  readonly responseModel?: string;
  /** Default: 200. */
  readonly success?: Operation['success'];
  /** Default: derived from `mutates`. */
  readonly refusals?: readonly number[];
  readonly modes?: Operation['modes'];
  readonly modeIn?: Operation['modeIn'];
  readonly choices?: Operation['choices'];
  readonly objectsInBody?: string;
  readonly extension?: boolean;
}

/** Refusals of a listing that names nothing that could be missing. */
export const rootRefusals: readonly number[] = [400, 401, 403, 406, 429, 500, 503];

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
    restricted: spec.restricted ?? 'refused',
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

/** The access groups of a policy. */
export type AccessGroup =
  | 'list'
  | 'describe'
  | 'read'
  | 'append'
  | 'modify'
  | 'schema'
  | 'index'
  | 'commit'
  | 'tag'
  | 'branch'
  | 'create'
  | 'drop'
  | 'manage'
  | 'audit';

/** The kind of object that the route names. */
export type ObjectKind = 'namespace' | 'table' | 'root' | 'transaction' | 'none';

/** Content of the request's body. */
type BodyKind = 'none' | 'json' | 'map' | 'arrow';

/** Content of the answer's body. */
export type ResponseKind =
  | 'none'
  | 'json'
  | 'map'
  | 'integer'
  | 'text'
  | 'arrow'
  | 'stream'
  | 'bytes';

/** A further right that a mode needs, `instead` of the operation's own or in addition to it. */
interface ModeNeed {
  readonly actions: readonly Action[];
  readonly instead: boolean;
}

/** The subject of a policy decision: an operation, or a whole access group (every operation of it). */
export type Action = OperationName | AccessGroup;

/** A verb and a path template. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** One row of the operation table. */
export interface Operation {
  readonly name: OperationName;
  readonly access: AccessGroup;
  readonly object: ObjectKind;
  readonly mutates: boolean;
  /**
   * What becomes of it for a caller whom restrictions bind on its object: it answers of visible rows and
   * columns only (`applied`), it tells nothing of rows or columns (`harmless`), or it is `refused`.
   */
  readonly restricted: 'applied' | 'harmless' | 'refused';
  /**
   * Whether a change takes effect in one step at its end, so that it may be prepared
   * while its attempt is on its way to the audit log. Its handler waits before that step.
   */
  readonly staged?: true;
  /**
   * Path templates with `{id}`, `{index_name}`, `{target}` and other names in braces,
   * without trailing slash; the first is the documented one.
   */
  readonly routes: readonly Route[];
  /** Query parameters that mean something; `query-parameter.ts` has their kinds. */
  readonly query: readonly string[];
  /** Those of them that may stand more than once. */
  readonly repeatable: readonly string[];
  /** Request headers that carry fields of the request, in lower case. */
  readonly headers: readonly string[];
  readonly body: BodyKind;
  /** Whether the body may also be an Arrow stream with a schema and no rows. */
  readonly schemaBody?: true;
  /** Name of the request's model in `models`: of a JSON body, also where none is needed. */
  readonly request?: string;
  readonly response: ResponseKind;
  readonly responseModel?: string;
  /** The status of success. */
  readonly success: 200 | 201 | 202;
  /** Statuses of refusals that can occur. */
  readonly refusals: readonly number[];
  /** Modes that need further rights, by the normalised name of the mode. */
  readonly modes?: Readonly<Record<string, ModeNeed>>;
  /** Fields with a closed set of values, normalised; the first of each is the default. */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** Location of the mode. */
  readonly modeIn?: 'query' | 'body';
  /** Objects that only the body names, for readers and remote backends; the engine checks them with the permit. */
  readonly objectsInBody?: string;
  /** True for the routes beside the specification that LanceDB calls. */
  readonly extension: boolean;
}
