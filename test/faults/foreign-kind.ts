import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ADMIN_KEY } from '../support/service.ts';
import { createTable, engineKind, groupBody, rowsIn } from './engine-kind.ts';
import type { Answered, TableKind } from './table-kind.ts';

const PROGRAM = new URL('./foreign-client.mjs', import.meta.url);
/** The library of a client that cannot commit goes on for minutes. */
const PATIENCE_MILLIS = 20_000;

/** What the client answers to a change. */
interface Said {
  readonly id: number;
  readonly version?: number;
  readonly error?: string;
}

/** A process with a Lance client, which changes the tables of one service. */
class ForeignClient {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (said: Said | undefined) => void>();
  #next = 0;

  constructor(url: string) {
    this.#child = fork(PROGRAM, [url, ADMIN_KEY], { serialization: 'advanced' });
    this.#child.on('message', (said: Said) => this.#settle(said.id, said));
    this.#child.on('exit', () => {
      for (const id of this.#waiting.keys()) this.#settle(id, undefined);
    });
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What became of a change. Rejects like a lost connection when it cannot be said. */
  async change(change: object): Promise<Answered> {
    const id = this.#next++;
    const timer = setTimeout(() => void this.end(), PATIENCE_MILLIS);
    const said = await new Promise<Said | undefined>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, ...change }, (error) => error && this.#settle(id, undefined));
    });
    clearTimeout(timer);
    if (said === undefined) throw Object.assign(new Error('the client ended'), { code: 'EPIPE' });
    return said.error === undefined ? { kind: 'made', version: said.version } : { kind: 'unknown' };
  }

  async end(): Promise<void> {
    if (this.isGone) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #settle(id: number, said: Said | undefined): void {
    this.#waiting.get(id)?.(said);
    this.#waiting.delete(id);
  }
}

/** A Lance table that a Lance client in another process changes; it commits through the catalog. */
export function foreignKind(): TableKind {
  const clients = new Map<string, ForeignClient>();
  const clientOf = (url: string): ForeignClient => {
    const known = clients.get(url);
    const client = known === undefined || known.isGone ? new ForeignClient(url) : known;
    clients.set(url, client);
    return client;
  };
  return {
    name: 'Lance table of a Lance client',
    changes: ['append', 'mark', 'remove'],
    isForeign: true,
    create: (url, table) => createTable(url, table, groupBody(0, 0)),
    change: (url, table, { kind, group }) => {
      const rows = kind === 'append' ? groupBody(group, rowsIn(group)) : null;
      return clientOf(url).change({ table, kind, group, rows });
    },
    read: (url, table) => engineKind.read(url, table),
    async cut() {
      await Promise.all([...clients.values()].map((client) => client.end()));
      clients.clear();
    },
  };
}
