import { nextTurn } from '../../base/pace.ts';
import { checkAgreement } from '../../../protocol/agreement.ts';
import type { CatalogRequest } from '../../../protocol/backend.ts';
import { completeBody } from '../../../protocol/body-completion.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { isJsonObject, parseJson, type JsonValue } from '../../../protocol/json.ts';
import { LONG_JSON, parseJsonInTurns } from '../../../protocol/json-parser.ts';
import type { BodyMeter } from '../../format/memory/request-memory.ts';
import { checkModel, prepareCheck } from '../../../protocol/models/models.ts';
import { onlyItem } from '../../base/items.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';

/** A JSON body that is read and checked. */
type Body = Record<string, JsonValue>;

/**
 * The text of a request's body, `{}` for an empty one; undefined if it must be read first.
 * @param limit Greatest size in bytes.
 * @throws CatalogError InvalidInput for a body that is too large or not UTF-8.
 */
export function textAtHand({ body }: CatalogRequest, limit: number): string | undefined {
  const whole = body.atHand?.();
  if (whole === undefined) return undefined;
  if (whole.byteLength > limit) throw tooLong(limit);
  return decode(whole);
}

/**
 * The JSON body of a request as it was sent: an object that agrees with the
 * route. Nothing sent, and `null`, are `{}`; the content type is not asked for,
 * since clients leave it out.
 * @throws CatalogError InvalidInput for a body that is not JSON, no
 * object, or at odds with the route.
 */
export function bodyOf(request: CatalogRequest, text: string): MaybePromise<Body> {
  if (text.length > LONG_JSON) return longBodyOf(request, text);
  return agreed(request, objectOf(text));
}

async function longBodyOf(request: CatalogRequest, text: string): Promise<Body> {
  return agreed(request, objectIn(await parseJsonInTurns(text, nextTurn)));
}

function agreed(request: CatalogRequest, body: Body): Body {
  checkAgreement(request, body);
  return body;
}

function tooLong(limit: number): CatalogError {
  return new CatalogError('InvalidInput', `a JSON body may have at most ${limit} bytes`);
}

/**
 * Validates a body and completes it from the route and the query.
 * @throws CatalogError InvalidInput for a body that does not fit its model.
 */
export function checkedBody(request: CatalogRequest, sent: Body): Body {
  return checked(request, completeBody(request, sent));
}

/** As `checkedBody` for a long body; yields to other requests. */
export async function checkedLongBody(request: CatalogRequest, sent: Body): Promise<Body> {
  const body = completeBody(request, sent);
  // A context with many entries takes long to check.
  contextOf(request, body);
  const model = request.operation.request;
  if (model !== undefined) await prepareCheck(model, body, nextTurn);
  return checked(request, body);
}

function checked(request: CatalogRequest, body: Body): Body {
  const model = request.operation.request;
  if (model !== undefined) checkModel(model, body);
  return body;
}

/** Limit of a body's context in bytes, the same as for headers: it is recorded whole. */
const CONTEXT_BYTES = 16 * 1024;

/**
 * Adds the body's context to the request; headers take precedence.
 * @throws CatalogError InvalidInput for a context of more than 16 KiB.
 */
export function withBodyContext(request: CatalogRequest, body: Body): CatalogRequest {
  const own = contextOf(request, body);
  if (own === undefined) return request;
  if (own.size > 0) request.noteBodyContext?.(own);
  return { ...request, context: new Map([...own, ...request.context]) };
}

/** Entries of a body's context; stops at the limit. */
function contextOf(request: CatalogRequest, body: Body): Map<string, string> | undefined {
  const entries = body['context'];
  if (request.operation.body === 'map' || !isJsonObject(entries)) return undefined;
  const own = new Map<string, string>();
  let bytes = 0;
  for (const key in entries) {
    const value = entries[key];
    if (typeof value !== 'string') continue;
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (bytes > CONTEXT_BYTES) {
      throw new CatalogError('InvalidInput', `context may have at most ${CONTEXT_BYTES} bytes`);
    }
    own.set(key.toLowerCase(), value);
  }
  return own;
}

function objectOf(text: string): Body {
  if (text === NOTHING || text.trim() === '') return {};
  return objectIn(parseJson(text));
}

function objectIn(value: JsonValue): Body {
  if (value === null) return {};
  if (isJsonObject(value)) return value;
  throw new CatalogError('InvalidInput', `the body must be a JSON object, not ${kindOf(value)}`);
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a string';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
}

/** Memory per byte of a JSON text, including its parsed value. */
const TEXT_SHARE = 8;

/**
 * Reads the text of a body.
 * @param meter Accounts for memory as bytes arrive, until it is closed.
 */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  meter: BodyMeter,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > limit) throw tooLong(limit);
    const wait = meter.hold(TEXT_SHARE * chunk.byteLength);
    if (wait !== undefined) await wait;
    chunks.push(chunk);
  }
  return decode(onlyItem(chunks) ?? Buffer.concat(chunks, bytes));
}

function isNothing(bytes: Uint8Array): boolean {
  return (
    bytes.byteLength === 0 || (bytes.byteLength === 2 && bytes[0] === 0x7b && bytes[1] === 0x7d)
  );
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Body of most reads. */
const NOTHING = '{}';

function decode(bytes: Uint8Array): string {
  if (isNothing(bytes)) return NOTHING;
  try {
    return utf8.decode(bytes);
  } catch {
    throw new CatalogError('InvalidInput', 'the body is not valid UTF-8');
  }
}
