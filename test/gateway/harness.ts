import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { AuditRecord } from '../../src/audit/record/record.ts';
import type { AuditLog } from '../../src/audit/writer.ts';
import type { Certificate } from '../../src/gateway/http/certificate.ts';
import { Drain } from '../../src/gateway/drain.ts';
import type { Gateway } from '../../src/gateway/gateway.ts';
import { FailureLimit } from '../../src/gateway/identity/failure-limit.ts';
import { Identification } from '../../src/gateway/identity/identification.ts';
import { updateKeys } from '../../src/gateway/identity/key-file.ts';
import { KeyRing } from '../../src/gateway/identity/key-ring.ts';
import { makeKey, type KeyDetails } from '../../src/gateway/identity/keys.ts';
import type { LingerLimits } from '../../src/gateway/http/linger.ts';
import { Networks } from '../../src/gateway/http/networks.ts';
import { Scans } from '../../src/gateway/scans.ts';
import { Recorder } from '../../src/gateway/record.ts';
import { redactor } from '../../src/gateway/decision/redact.ts';
import { Shadow } from '../../src/gateway/shadow.ts';
import { listen, type Listening } from '../../src/gateway/server.ts';
import type { Site } from '../../src/gateway/plain.ts';
import { Tokens } from '../../src/gateway/identity/tokens.ts';
import type { Issuer } from '../../src/policy/settings/issuer.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import { MemoryQuota } from '../../src/store/embedded/memory-quota.ts';
import type { Quota } from '../../src/store/quota.ts';
import { defaultBudget } from '../../src/protocol/budget.ts';
import type { Answer, Backend, CatalogRequest } from '../../src/protocol/backend.ts';
import type { Permit } from '../../src/protocol/permit.ts';

export const ADMIN = 'the-administrator';

export const MODEL = `[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.sub, p.sub) && within(r.obj, p.obj) && covers(p.act, r.act)
`;

export const POLICY = `p, role:admin, /**, *, allow
p, role:analyst, /prod/**, read, allow
p, role:analyst, /prod/hr/**, *, deny
p, role:loader, /prod/**, append, allow
`;

/** An audit log that keeps its records in memory, and can be out of order. */
export class MemoryAudit implements AuditLog {
  readonly instance = 'memory';
  readonly records: AuditRecord[] = [];
  /** What was written, in order: `outcome InsertIntoTable durable`. */
  readonly events: string[];
  /** Decides which records cannot be written. */
  broken: (record: AuditRecord) => boolean = () => false;

  constructor(events: string[]) {
    this.events = events;
  }

  async write(record: AuditRecord, durable: boolean): Promise<void> {
    await Promise.resolve();
    if (this.broken(record)) throw new Error('the disk is full');
    this.records.push(record);
    this.events.push(`${record.phase} ${record.operation}${durable ? ' durable' : ''}`);
  }

  healthy(): string | undefined {
    return undefined;
  }

  weakness(): string | undefined {
    return undefined;
  }

  async close(): Promise<void> {}

  outcomes(): readonly AuditRecord[] {
    return this.records.filter((record) => record.phase === 'outcome');
  }
}

export type Handle = (request: CatalogRequest, permit: Permit) => Promise<Answer> | Answer;

/** A small backend: one function answers every operation. */
class SmallBackend implements Backend {
  readonly name = 'small';
  readonly #handle: Handle;
  readonly #events: string[];
  readonly #setup: Setup;

  constructor(setup: Setup, events: string[]) {
    this.#setup = setup;
    this.#handle =
      setup.handle ?? (() => ({ status: 200, contentType: 'application/json', body: '{}' }));
    this.#events = events;
  }

  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    this.#events.push(`handle ${request.operation.name}`);
    return this.#handle(request, permit);
  }

  async weakness(): Promise<undefined> {}

  async health(): Promise<string | undefined> {
    return this.#setup.health?.();
  }
}

export interface Setup {
  /** What the gateway has beside its usual parts, or in their place. */
  readonly gateway?: Partial<Gateway>;
  readonly certificate?: Certificate;
  readonly headersMillis?: number;
  readonly site?: Site;
  readonly handle?: Handle;
  readonly health?: () => string | undefined;
  readonly policy?: string;
  /** The text of `model.conf`; the shipped model when absent. */
  readonly model?: string;
  /** The text of `limits.yaml`. */
  readonly limits?: string;
  /** The text of `commits.yaml`. */
  readonly commits?: string;
  /** The text of `restrictions.yaml`. */
  readonly restrictions?: string;
  readonly quota?: Quota;
  readonly trustedProxies?: readonly string[];
  readonly refused?: () => string | undefined;
  /** A policy that is tried out beside it. */
  readonly shadow?: PolicySnapshot;
  readonly linger?: LingerLimits;
  readonly headerBytes?: number;
  readonly idleMillis?: number;
  readonly drainMillis?: number;
  /** Connections that are open at once. */
  readonly connections?: number;
  readonly issuers?: readonly Issuer[];
  /** Wrong credentials of an address in a minute; any number without. */
  readonly failedIdentifications?: number;
}

/** A gateway that listens, with everything real but its backend and the place of its audit log. */
export interface Harness {
  readonly url: URL;
  readonly gateway: Gateway;
  readonly audit: MemoryAudit;
  readonly events: string[];
  /** Everything that was logged, as JSON lines. */
  readonly logged: string[];
  readonly listening: Listening;
  readonly tokens: Tokens;
  /** Makes a key with these roles and gives its text. */
  key(details: Partial<KeyDetails>): Promise<string>;
  close(): Promise<void>;
}

export async function start(setup: Setup = {}): Promise<Harness> {
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-gateway-'));
  const events: string[] = [];
  const logged: string[] = [];
  const audit = new MemoryAudit(events);
  const keyPath = join(folder, 'keys.json');
  const gateway = await gatewayOf(setup, { folder, keyPath, audit, events, logged });
  const listening = await listen(gateway, {
    host: '127.0.0.1',
    port: 0,
    headerBytes: setup.headerBytes ?? 16_384,
    idleMillis: setup.idleMillis ?? 60_000,
    drainMillis: setup.drainMillis ?? 5_000,
    ...(setup.connections === undefined ? {} : { connections: setup.connections }),
    ...(setup.headersMillis === undefined ? {} : { headersMillis: setup.headersMillis }),
    ...(setup.certificate === undefined ? {} : { certificate: setup.certificate }),
    ...(setup.site === undefined ? {} : { site: setup.site }),
  });
  return {
    url: new URL(listening.url),
    gateway,
    audit,
    events,
    logged,
    listening,
    tokens: gateway.tokens,
    key: (details) => addKey(keyPath, details),
    close: async () => {
      await listening.stop();
      gateway.tokens.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Parts {
  readonly folder: string;
  readonly keyPath: string;
  readonly audit: MemoryAudit;
  readonly events: string[];
  readonly logged: string[];
}

async function gatewayOf(setup: Setup, parts: Parts): Promise<Gateway> {
  const policies = join(parts.folder, 'policies');
  await mkdir(policies);
  await writeFile(join(policies, 'model.conf'), setup.model ?? MODEL);
  await writeFile(join(policies, 'policy.csv'), setup.policy ?? POLICY);
  if (setup.limits !== undefined) await writeFile(join(policies, 'limits.yaml'), setup.limits);
  if (setup.commits !== undefined) await writeFile(join(policies, 'commits.yaml'), setup.commits);
  if (setup.restrictions !== undefined)
    await writeFile(join(policies, 'restrictions.yaml'), setup.restrictions);
  const snapshot = await loadPolicy(policies);
  const log = pino({ level: 'info' }, { write: (line: string) => void parts.logged.push(line) });
  const keys = new KeyRing(parts.keyPath, ADMIN, () => undefined);
  const tokens = new Tokens(setup.issuers ?? [], { log });
  const failures = new FailureLimit(setup.failedIdentifications ?? null);
  return {
    keys,
    tokens,
    identification: new Identification({ keys, tokens, failures }),
    trustedProxies: new Networks(setup.trustedProxies ?? []),
    bodyIds: 'checked',
    quota: setup.quota ?? new MemoryQuota(),
    budget: defaultBudget,
    scans: new Scans(16),
    policy: { current: () => snapshot, refused: () => setup.refused?.() },
    ...(setup.shadow === undefined
      ? {}
      : {
          shadow: new Shadow({ current: () => setup.shadow, refused: () => undefined }, log),
        }),
    recorder: new Recorder({
      audit: parts.audit,
      log,
      durable: 'mutations',
      redact: redactor(['*token*']),
      backend: 'small',
    }),
    backend: new SmallBackend(setup, parts.events),
    log,
    linger: setup.linger ?? { bytes: 256 * 1024 * 1024, milliseconds: 30_000 },
    version: '0.0.0',
    drain: new Drain(),
    ...setup.gateway,
  };
}

async function addKey(path: string, details: Partial<KeyDetails>): Promise<string> {
  const made = makeKey({ subject: 'user:alice', roles: [], expires: null, ...details }, new Date());
  await updateKeys(path, (keys) => [...keys, made.stored]);
  return made.text;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** Sends one request and reads the whole answer; rejects when the connection is cut. */
export function ask(harness: Harness, path: string, options: Ask = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      harness.url,
      { path, method: options.method ?? 'POST', headers: options.headers, agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}

/** The headers of the administrator. */
export const admin = { 'x-api-key': ADMIN };

export function json(reply: Reply): Record<string, unknown> {
  return JSON.parse(reply.text) as Record<string, unknown>;
}
