import type { OperationName } from './operation-name.ts';

/** The access groups of a policy (contract section 5). */
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

/** What the route names. */
export type ObjectKind = 'namespace' | 'table' | 'root' | 'transaction' | 'none';

/** What travels in the request's body. */
export type BodyKind = 'none' | 'json' | 'map' | 'arrow';

/** What travels in the answer's body. */
export type ResponseKind =
  | 'none'
  | 'json'
  | 'map'
  | 'integer'
  | 'text'
  | 'arrow'
  | 'stream'
  | 'bytes';

/** A further right that a mode asks for. `instead` of the operation's own, or beside it. */
export interface ModeNeed {
  readonly actions: readonly Action[];
  readonly instead: boolean;
}

/** What a policy decides about: an operation, or a whole access group (every operation of it). */
export type Action = OperationName | AccessGroup;

/** A verb and a path template. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

/** One row of the operation table: everything that is known of an operation, once. */
export interface Operation {
  readonly name: OperationName;
  readonly access: AccessGroup;
  readonly object: ObjectKind;
  readonly mutates: boolean;
  /**
   * Whether a change takes effect in one step at its end, so that it may be prepared
   * while its attempt is on its way to the audit log. Who prepares it waits before that step.
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
  /** Where the mode stands. */
  readonly modeIn?: 'query' | 'body';
  /** What only the body names, for the reader and for remote backends; the engine asks the permit for it. */
  readonly objectsInBody?: string;
  /** True for the routes beside the specification that LanceDB calls. */
  readonly extension: boolean;
}
