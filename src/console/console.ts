import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Received, Recorded } from '../gateway/decision/steps.ts';
import type { ConsoleSite, Gateway } from '../gateway/gateway.ts';
import { identify } from '../gateway/identify.ts';
import { authorizeWhole, handleOwn } from '../gateway/own-request.ts';
import { answerPlain, NoSuchPage } from '../gateway/plain.ts';
import { MethodRefused, targetPath } from '../gateway/route.ts';
import { endpoints } from './api.ts';
import { apiAnswer } from './call.ts';
import { handleCall, readingCall } from './protocol-call.ts';
import { jsonBody } from './json-body.ts';
import type { CatalogAccess } from './catalog-access.ts';
import type { ServiceFacts } from './attention.ts';
import type { IntegrityWork } from './integrity.ts';
import type { KeyAccess } from './keys.ts';
import type { PolicyDesk } from './policy/desk.ts';
import { cookieOf, hasCookie, noCookie, sessionCookie } from './sessions/cookie.ts';
import type { Sessions, SignedIn } from './sessions/sessions.ts';
import { requireSameOrigin, transportOf, type Transport } from './sessions/transport.ts';
import { StaticFiles } from './static-files.ts';
import type { Trail } from './trail/trail.ts';

const PREFIX = '/console/';
const API = 'api/';
/** Paths of the protocol, for reading as the caller of the session. */
const PROTOCOL = `${API}v1/`;
const SESSION = 'session';
/** The part of a call that its audit record has, in characters. */
const RECORDED_CALL = 512;

interface ConsoleOptions {
  readonly sessions: Sessions;
  readonly trail: Trail;
  readonly keys: KeyAccess;
  readonly desk: PolicyDesk;
  readonly catalog: CatalogAccess;
  readonly integrity: IntegrityWork;
  readonly facts: ServiceFacts;
}

/** Serves the review console: static pages, sessions, and an API whose calls are decided and recorded. */
export class Console implements ConsoleSite {
  readonly #options: ConsoleOptions;
  readonly #files = new StaticFiles();

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  async handle(gateway: Gateway, received: Received): Promise<void> {
    const { url = '' } = received.incoming;
    const path = targetPath(url).slice(PREFIX.length);
    if (targetPath(url) !== PREFIX.slice(0, -1) && path === SESSION) {
      await this.#session(gateway, received);
    } else if (path.startsWith(PROTOCOL)) {
      await this.#protocol(gateway, received);
    } else if (path.startsWith(API)) {
      await this.#api(gateway, received, path.slice(API.length));
    } else {
      await answerPlain(gateway, received, () => this.#page(received, path));
    }
  }

  async close(): Promise<void> {
    await this.#options.trail.close();
    await this.#options.desk.close();
    await this.#options.sessions.close();
  }

  #page({ incoming }: Received, path: string): Answer {
    if (targetPath(incoming.url ?? '') === '/console') {
      return { status: 308, headers: { location: PREFIX }, body: null };
    }
    requireMethod(incoming.method, ['GET', 'HEAD']);
    return this.#files.answer(path, incoming);
  }

  async #session(gateway: Gateway, received: Received): Promise<void> {
    const { method } = received.incoming;
    if (method === 'POST') return this.#signIn(gateway, received);
    return answerPlain(gateway, received, () => this.#signOut(gateway, received));
  }

  /** The credential needs the right to audit, so a session is of use to its owner. */
  async #signIn(gateway: Gateway, received: Received): Promise<void> {
    let given: SignedIn | undefined;
    let transport: Transport | undefined;
    await handleOwn(gateway, received, {
      operation: 'QueryTable',
      object: ['system', 'audit'],
      context: new Map([['console', 'session']]),
      prepare: async () => {
        transport = transportOf(received, gateway.trustedProxies);
        requireSameOrigin(received.incoming, transport);
        given = await credentialIn(received);
        present(received, given);
      },
      answer: async ({ principal }) => {
        this.#options.trail.prepare();
        const cookie = await this.#options.sessions.begin(given!);
        const { subject } = principal;
        const headers = { 'set-cookie': sessionCookie(cookie, transport!) };
        return apiAnswer(JSON.stringify({ subject }), headers);
      },
    });
  }

  async #signOut({ trustedProxies }: Gateway, received: Received): Promise<Answer> {
    const { incoming } = received;
    requireMethod(incoming.method, ['POST', 'DELETE']);
    const transport = transportOf(received, trustedProxies);
    requireSameOrigin(incoming, transport);
    const cookie = cookieOf(incoming, transport);
    if (cookie !== undefined) await this.#options.sessions.end(cookie);
    return { status: 204, headers: { 'set-cookie': noCookie(transport) }, body: null };
  }

  async #protocol(gateway: Gateway, received: Received): Promise<void> {
    const { url = '' } = received.incoming;
    const target = url.slice(`${PREFIX}${API}`.length - 1);
    const match = readingCall(received, target);
    if (match === undefined) {
      return answerPlain(gateway, received, () => {
        throw new NoSuchPage(targetPath(url));
      });
    }
    return handleCall(gateway, received, { target, match }, () =>
      this.#identify(gateway, received),
    );
  }

  async #api(gateway: Gateway, received: Received, name: string): Promise<void> {
    const { incoming } = received;
    const endpoint = endpoints.get(name);
    if (endpoint === undefined || incoming.method !== (endpoint.method ?? 'GET')) {
      return answerPlain(gateway, received, () => {
        if (endpoint !== undefined) requireMethod(incoming.method, [endpoint.method ?? 'GET']);
        throw new NoSuchPage(`${PREFIX}${API}${name}`);
      });
    }
    const { url = '' } = incoming;
    const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
    const call = [name, query.toString()].filter((part) => part !== '').join('?');
    await handleOwn(gateway, received, {
      operation: 'QueryTable',
      object: endpoint.object,
      context: new Map([['console', call.slice(0, RECORDED_CALL)]]),
      prepare: () => this.#identify(gateway, received),
      answer: (recorded) => {
        const isAllowed = () => this.#isStillAllowed(gateway, recorded);
        const { sessions: _sessions, ...parts } = this.#options;
        return endpoint.answer({ gateway, recorded, query, isAllowed, ...parts });
      },
    });
  }

  /** Whether a request would be allowed again: for an answer that goes on. */
  async #isStillAllowed(gateway: Gateway, recorded: Recorded): Promise<boolean> {
    try {
      const { incoming } = recorded;
      if (hasCookie(incoming)) {
        const transport = transportOf(recorded, gateway.trustedProxies);
        const cookie = cookieOf(incoming, transport) ?? '';
        if ((await this.#options.sessions.find(cookie)) === undefined) return false;
      }
      const { principal } = await identify({ ...recorded }, gateway.identification);
      authorizeWhole({ ...recorded, principal }, gateway.policy.current());
      return true;
    } catch (error) {
      if (error instanceof CatalogError) return false;
      throw error;
    }
  }

  /** Replaces the cookie of a session by its credential, which is checked again for each request. */
  async #identify({ trustedProxies }: Gateway, received: Received): Promise<void> {
    const { incoming } = received;
    if (!hasCookie(incoming) || carriesCredential(received)) return;
    const transport = transportOf(received, trustedProxies);
    requireSameOrigin(incoming, transport);
    const cookie = cookieOf(incoming, transport);
    const credential = cookie === undefined ? undefined : await this.#options.sessions.find(cookie);
    if (credential === undefined) {
      throw new CatalogError('Unauthenticated', 'the session has ended: sign in again');
    }
    present(received, credential);
  }
}

function carriesCredential({ incoming: { headers } }: Received): boolean {
  return headers['x-api-key'] !== undefined || headers.authorization !== undefined;
}

/** Puts a credential where a client of the protocol has it. */
function present({ incoming: { headers } }: Received, { kind, text }: SignedIn): void {
  delete headers['x-api-key'];
  delete headers.authorization;
  if (kind === 'key') headers['x-api-key'] = text;
  else headers.authorization = `Bearer ${text}`;
}

function requireMethod(method: string | undefined, allowed: readonly string[]): void {
  if (method === undefined || !allowed.includes(method)) {
    throw new MethodRefused(method ?? '', allowed);
  }
}

const SHAPE = 'the body must be {"key": "…"} or {"token": "…"}, as application/json';

/** @throws CatalogError InvalidInput */
async function credentialIn(received: Received): Promise<SignedIn> {
  const value = await jsonBody(received, SHAPE);
  const [kind, ...others] = Object.keys(value);
  const text = kind === undefined ? undefined : value[kind];
  const isOne = others.length === 0 && typeof text === 'string' && /^[\x21-\x7e]+$/.test(text);
  if (isOne && (kind === 'key' || kind === 'token')) return { kind, text };
  throw new CatalogError('InvalidInput', SHAPE);
}
