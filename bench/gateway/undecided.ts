// A process that serves a data folder like the gateway, with the decision steps off: it asks for no
// key, judges by no policy and records nothing. Started with the data folder; prints its address.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type * as Admit from '../../src/gateway/admit.ts';
import type * as Engine from '../../src/engine/engine.ts';
import type * as OpenStore from '../../src/store/open/open-store.ts';
import type * as NetworksModule from '../../src/gateway/http/networks.ts';
import type * as Route from '../../src/gateway/route.ts';
import type * as Send from '../../src/gateway/http/send.ts';
import { RequestBudget, defaultBudget } from '../../src/protocol/budget.ts';
import type { CatalogRequest } from '../../src/protocol/backend.ts';
import type { Permit, VisibleNames } from '../../src/protocol/permit.ts';
import { built } from '../harness/built.ts';

const { receive, admit } = await built<typeof Admit>('gateway/admit.js');
const { Networks } = await built<typeof NetworksModule>('gateway/http/networks.js');
const { route } = await built<typeof Route>('gateway/route.js');
const { send } = await built<typeof Send>('gateway/http/send.js');
const { openEngine } = await built<typeof Engine>('engine/engine.js');
const { openStore } = await built<typeof OpenStore>('store/open/open-store.js');

const data = process.argv[2] ?? '';
const MIB = 2 ** 20;
const store = await openStore({
  redis: null,
  catalog: 'default',
  folder: join(data, 'private', 'store'),
});
const engine = await openEngine({
  data,
  store,
  locations: { managed: join(data, 'lance'), allowed: [] },
  cacheBytes: 256 * MIB,
  jsonBody: 8 * MIB,
  arrowBody: null,
  page: 1000,
});

const nobody = new Networks([]);

/** Allows everything, without a question. */
const permit: Permit = {
  principal: {
    subject: 'user:anyone',
    groups: [],
    roles: [],
    credential: { kind: 'key', id: 'none' },
  },
  decisionId: 'none',
  restrictionsOn: () => null,
  require: () => undefined,
  holds: () => true,
  holdsOnBranches: () => true,
  holdsAlways: () => true,
  sees: () => true,
  holdsBelow: () => true,
  show: (entries, _object, _kind, name) => entries.map(name) as readonly string[] as VisibleNames,
};

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const routed = route(admit(receive(incoming, outgoing, false, nobody), false));
  const { operation, dialect, object, delimiter, query } = routed.route;
  const { headers } = incoming;
  const { context, requestId, signal, body } = routed;
  const request: CatalogRequest = {
    operation,
    dialect,
    object,
    delimiter,
    query,
    headers,
    context,
    requestId,
    signal,
    budget: new RequestBudget(defaultBudget),
    body,
  };
  // As the gateway does: a body that is there whole costs a fraction of one that is read as a stream.
  if (!incoming.complete) await setImmediate();
  await send(outgoing, await engine.backend.handle(request, permit), { 'x-request-id': requestId });
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void engine.close().then(() => store.close());
});
