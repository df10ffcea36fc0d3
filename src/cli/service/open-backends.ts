import type { Logger } from 'pino';
import type { RemoteOptions } from '../../gateway/backends/backend-options.ts';
import {
  BackendRouter,
  type Aim,
  type BackendRoute,
} from '../../gateway/backends/backend-router.ts';
import type { BodyLimits } from '../../gateway/backends/bounded-body.ts';
import { RemoteBackend } from '../../gateway/backends/remote-backend.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { parsePattern, type Pattern } from '../../policy/lines/pattern.ts';
import { rightsOfAction } from '../../policy/lines/rights.ts';
import { answerBy, type Backend } from '../../protocol/backend.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import { isOperationName } from '../../protocol/operations/operations.ts';
import { connectionsWithin, descriptorLimit } from '../../storage/descriptors.ts';
import type { BackendSetting, HttpSetting } from '../config/config-backends.ts';
import { credentialOf, type Environment } from '../config/config-environment.ts';
import type { Opened } from './opened.ts';

/** How long a start waits for the first look at the remote backends. */
export const FIRST_LOOK_MILLIS = 3_000;

/** The opened backends of a gateway. */
export interface Backends {
  readonly gateway: Pick<Gateway, 'backend' | 'remotes' | 'remoteFor'>;
  /** Name of the backend that a route is for, for the audit log. */
  readonly nameFor: (route: Aim | undefined) => string;
}

/** Dependencies of backends. */
interface BackendParts {
  readonly embedded: Backend;
  readonly environment: Environment;
  /** How long bodies may be that are passed on. */
  readonly bodies: BodyLimits;
  /** Maximum number of names on one page of a listing. */
  readonly page: number;
  readonly log: Logger;
  readonly opened: Opened;
}

/**
 * The backends of the configuration as one, looked at once.
 * @throws ConfigError for a credential that is not there
 */
export async function openBackends(
  settings: readonly BackendSetting[],
  parts: BackendParts,
): Promise<Backends> {
  const [only, ...others] = settings;
  if (only?.type === 'embedded' && others.length === 0 && only.namespaces.includes('/**')) {
    return { gateway: { backend: parts.embedded }, nameFor: () => only.name };
  }
  const routes = settings.map((setting) => routeOf(setting, parts));
  const remotes = routes
    .map(({ backend }) => backend)
    .filter((each) => each instanceof RemoteBackend);
  for (const remote of remotes) parts.opened.add(() => remote.close());
  await firstLooks(remotes);
  const router = new BackendRouter(routes, remotes);
  const nameFor: Backends['nameFor'] = (route) =>
    (route === undefined ? undefined : router.nameFor(route)) ?? 'none';
  const remoteFor = (aim: Aim) => router.remoteFor(aim);
  return { gateway: { backend: router, remotes, remoteFor }, nameFor };
}

async function firstLooks(remotes: readonly RemoteBackend[]): Promise<void> {
  const looks = Promise.all(remotes.map((remote) => remote.start()));
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, FIRST_LOOK_MILLIS);
  });
  await Promise.race([looks, timeout]);
  clearTimeout(timer);
}

function routeOf(
  setting: BackendSetting,
  { embedded, environment, bodies, page, log }: BackendParts,
): BackendRoute {
  const namespaces = setting.namespaces.map(patternOf);
  if (setting.type === 'embedded') return { backend: named(embedded, setting.name), namespaces };
  const options = { ...optionsOf(setting, namespaces, environment), bodies, page };
  if (options.credential !== undefined && isOpen(options.url)) {
    log.warn({ backend: setting.name }, 'a credential is sent to a backend without encryption');
  }
  return { backend: new RemoteBackend(options, log), namespaces };
}

/** The engine under the name that the configuration gives it. */
function named(backend: Backend, name: string): Backend {
  if (backend.name === name) return backend;
  return {
    name,
    handle: (request, permit) => backend.handle(request, permit),
    answer: (request, permit) => answerBy(backend, request, permit),
    health: () => backend.health(),
    weakness: () => backend.weakness(),
  };
}

function optionsOf(
  setting: HttpSetting,
  namespaces: readonly Pattern[],
  environment: Environment,
): Omit<RemoteOptions, 'bodies' | 'page'> {
  const { name, dialect, timeouts, connections, breaker } = setting;
  return {
    name,
    url: new URL(setting.url),
    namespaces,
    prefix: setting.strip_prefix ? fixedNames(namespaces[0]) : [],
    credential: credentialOf(setting, environment),
    dialect,
    database: setting.database ?? undefined,
    trust: trustedWith(setting.trust),
    timeouts,
    connections: Math.min(connections, connectionsWithin(descriptorLimit)),
    breaker,
  };
}

function fixedNames(pattern: Pattern | undefined): readonly string[] {
  return pattern?.segments.filter((segment) => segment !== null) ?? [];
}

function trustedWith(trust: readonly string[]): ReadonlySet<OperationName> {
  return new Set(trust.flatMap((action) => rightsOfAction(action) ?? []).filter(isOperationName));
}

function patternOf(text: string): Pattern {
  const result = parsePattern(text);
  if ('fault' in result) throw new Error(result.fault);
  return result.pattern;
}

/** Whether requests to the address are unencrypted and leave this machine. */
function isOpen({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
