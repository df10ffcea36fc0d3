import type { Vocabulary } from '../../arrow/json-schema.ts';
import { schemaInVocabulary, typeInVocabulary } from '../../arrow/json-type.ts';
import type { Answer, CatalogRequest } from '../../protocol/backend.ts';
import { statusOf, type Dialect } from '../../protocol/dialect.ts';
import { CatalogError, errorTable, type ErrorRow } from '../../protocol/errors.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { isJsonObject, parseJson, stringifyJson, type JsonValue } from '../../protocol/json.ts';
import { normalMode } from '../../protocol/mode.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { BackendUnavailable } from './remote-error.ts';
import type { BackendDialect } from './backend-options.ts';
import { jsonIn, type BodyLimits } from './bounded-body.ts';
import { inLanceDb, inNamespace, type JsonFields, type Rendered } from './query-dialect.ts';
import { jsonOf } from './remote-answer.ts';

/** Maximum size of an answer that is translated, in bytes. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/** Names of one operation's members in a dialect. Others pass unchanged. */
interface Rendering {
  /** Parameters that the query gets. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: (body: JsonFields) => Rendered;
  /** From the backend's dialect to that of the client. */
  readonly answer?: (answer: JsonFields) => Rendered;
}

/** Translates a request from one dialect to the other. */
export interface Translation {
  /** The dialect that the backend understands. */
  readonly to: Dialect;
  readonly rendering: Rendering | undefined;
}

/**
 * Translates a request for a backend that supports one dialect; undefined if it is the client's.
 * @throws CatalogError Unsupported for an operation that the dialect lacks
 */
export function translationTo(
  backend: BackendDialect,
  { dialect, operation }: CatalogRequest,
): Translation | undefined {
  if (backend === 'both' || backend === dialect) return undefined;
  if (backend === 'lancedb' && operation.name === 'ListAllTables') {
    throw new CatalogError(
      'Unsupported',
      'the LanceDB dialect, which is all that the backend understands, has no listing of all tables; list the tables of a namespace',
    );
  }
  return { to: backend, rendering: renderings[backend][operation.name] };
}

/**
 * The request in the dialect of the backend.
 * @throws CatalogError InvalidInput for a body that is no JSON object
 */
export async function renderedRequest(
  request: CatalogRequest,
  { to, rendering }: Translation,
  limits: BodyLimits,
): Promise<CatalogRequest> {
  const query = new Map(request.query);
  for (const [name, value] of Object.entries(rendering?.query ?? {})) query.set(name, [value]);
  const headers = headersIn(to, request.headers);
  const routed = { ...request, dialect: to, query, headers };
  if (rendering?.body === undefined) return routed;
  const body = (await jsonIn(request, limits)) ?? {};
  if (!isJsonObject(body)) throw new CatalogError('InvalidInput', 'the body must be a JSON object');
  return withBody(routed, Buffer.from(stringifyJson(rendering.body(body))));
}

/** A server of both dialects tells them apart by the beginning of the user agent, too. */
function headersIn(to: Dialect, headers: CatalogRequest['headers']): CatalogRequest['headers'] {
  const agent = headers['user-agent'];
  if (to === 'lancedb' || agent === undefined) return headers;
  return { ...headers, 'user-agent': `arrowgate (${agent})` };
}

function withBody(request: CatalogRequest, bytes: Buffer): CatalogRequest {
  const { 'transfer-encoding': _, ...headers } = request.headers;
  return {
    ...request,
    unmeasured: false,
    headers: { ...headers, 'content-length': String(bytes.byteLength) },
    body: {
      atHand: () => bytes,
      async *[Symbol.asyncIterator]() {
        yield bytes;
      },
    },
  };
}

/**
 * The answer of a backend in the dialect of the client: members, and the status of a refusal.
 * @throws BackendUnavailable for an answer that cannot be read
 */
export async function renderedAnswer(
  answer: Answer,
  { rendering }: Translation,
  request: CatalogRequest,
  backend: string,
): Promise<Answer> {
  const row = errorTable.find(({ code }) => code === answer.code);
  if (row !== undefined) return renderedRefusal(answer, row, request);
  if (answer.status !== 200 || rendering?.answer === undefined) return answer;
  const value = await jsonOf(answer, ANSWER_BYTES);
  if (!isJsonObject(value)) {
    throw new BackendUnavailable(
      `the backend ${backend} answered ${request.operation.name} with a body that cannot be parsed`,
    );
  }
  const { 'content-length': _, ...headers } = answer.headers ?? {};
  return { ...answer, headers, body: stringifyJson(rendering.answer(value)) };
}

/** LanceDB recognises an existing table by these words in any refusal. */
const EXISTS = 'already exists';

function renderedRefusal(answer: Answer, row: ErrorRow, request: CatalogRequest): Answer {
  const { dialect, operation, object } = request;
  const rendered = { ...answer, status: statusOf(row, dialect, operation.name) };
  const text = typeof answer.body === 'string' ? answer.body : '{}';
  const isExpressible = dialect === 'namespace' || row.name !== 'TableAlreadyExists';
  if (isExpressible || text.includes(EXISTS)) return rendered;
  const fields = parseJson(text);
  if (!isJsonObject(fields)) return rendered;
  const error = `the table ${canonicalPath(object)} ${EXISTS}`;
  return { ...rendered, body: stringifyJson({ ...fields, error }) };
}

type Renderings = Readonly<Partial<Record<OperationName, Rendering>>>;

/** For LanceDB clients of a server of the namespace specification. */
const namespaceRenderings: Renderings = {
  CreateNamespace: { body: withPlainModes },
  DropNamespace: { body: withPlainModes },
  DescribeTable: {
    // LanceDB needs the version and the schema, which the specification gives on request.
    query: { load_detailed_metadata: 'true' },
    body: (body) => ({ ...body, load_detailed_metadata: true }),
    answer: (answer) => withSchema(answer, 'lance'),
  },
  RenameTable: { body: (body) => renamed(body, 'new_namespace', 'new_namespace_id') },
  QueryTable: { body: inNamespace },
  AnalyzeTableQueryPlan: { body: inNamespace },
  ExplainTableQueryPlan: { body: (body) => withQuery(body, inNamespace) },
  UpdateTable: { answer: (answer) => renamed(answer, 'updated_rows', 'rows_updated') },
  CreateTableIndex: { body: (body) => renamed(body, 'metric_type', 'distance_type') },
  CreateTableScalarIndex: { body: (body) => renamed(body, 'metric_type', 'distance_type') },
  AlterTableAlterColumns: { body: (body) => withTypes(body, 'namespace') },
  ListTableTags: { answer: ({ tags }) => (isJsonObject(tags) ? tags : {}) },
};

/** For clients of the namespace specification on a LanceDB server. */
const lanceDbRenderings: Renderings = {
  DescribeTable: { answer: (answer) => withSchema(answer, 'namespace') },
  RenameTable: { body: (body) => renamed(body, 'new_namespace_id', 'new_namespace') },
  QueryTable: { body: inLanceDb },
  AnalyzeTableQueryPlan: { body: inLanceDb },
  ExplainTableQueryPlan: { body: (body) => withQuery(body, inLanceDb) },
  UpdateTable: { answer: (answer) => renamed(answer, 'rows_updated', 'updated_rows') },
  CreateTableIndex: { body: (body) => renamed(body, 'distance_type', 'metric_type') },
  CreateTableScalarIndex: { body: (body) => renamed(body, 'distance_type', 'metric_type') },
  AlterTableAlterColumns: { body: (body) => withTypes(body, 'lance') },
  ListTableTags: { answer: (tags) => ({ tags }) },
};

const renderings: Readonly<Record<Dialect, Renderings>> = {
  namespace: namespaceRenderings,
  lancedb: lanceDbRenderings,
};

/** LanceDB sends some modes with literal quotes. */
function withPlainModes(body: JsonFields): JsonFields {
  const entries = Object.entries(body).map(([name, value]) => {
    const isMode = name === 'mode' || name === 'behavior';
    return [name, isMode && typeof value === 'string' ? normalMode(value) : value] as const;
  });
  return Object.fromEntries(entries);
}

/** With a member under another name; one that has that name already stays. */
function renamed(fields: JsonFields, from: string, to: string): JsonFields {
  const { [from]: value, ...others } = fields;
  return value === undefined || value === null ? fields : { [to]: value, ...others };
}

function withQuery(body: JsonFields, render: (query: JsonFields) => Rendered): Rendered {
  const { query } = body;
  return isJsonObject(query) ? { ...body, query: render(query) } : body;
}

function withSchema(answer: JsonFields, vocabulary: Vocabulary): Rendered {
  const schema = schemaInVocabulary(answer['schema'], vocabulary);
  return schema === undefined ? answer : { ...answer, schema };
}

function withTypes(body: JsonFields, vocabulary: Vocabulary): Rendered {
  const { alterations } = body;
  if (!Array.isArray(alterations)) return body;
  return { ...body, alterations: alterations.map((each) => withType(each, vocabulary)) };
}

function withType(alteration: JsonValue, vocabulary: Vocabulary): unknown {
  if (!isJsonObject(alteration)) return alteration;
  const type = typeInVocabulary(alteration['data_type'], vocabulary);
  return type === undefined ? alteration : { ...alteration, data_type: type };
}
