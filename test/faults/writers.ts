import { setTimeout as sleep } from 'node:timers/promises';
import { versionsOf } from '../service/insert-ledger.ts';
import type { Random } from '../service/random.ts';
import type { LoggedRecord } from '../../src/audit/record/record.ts';
import { Accounts } from './accounts.ts';
import type { TableKind } from './table-kind.ts';

/** Pause of writers after an answer that no gateway can serve them, in ms. */
const PAUSE_MILLIS = 20;

/** A table, the writers that change it, and what they know. */
export class Writers {
  readonly accounts = new Accounts();
  readonly #kind: TableKind;
  readonly #table: string;
  readonly #random: Random;

  constructor(kind: TableKind, table: string, random: Random) {
    this.#kind = kind;
    this.#table = table;
    this.#random = random;
  }

  async create(url: string): Promise<void> {
    await this.#kind.create(url, this.#table);
  }

  /** One writer at work on one gateway, until that is gone or it shall stop. */
  async work(url: string, stop: AbortSignal): Promise<void> {
    while (!stop.aborted && (await this.#change(url)));
  }

  /** What is wrong with the table, as a gateway shows it. No writer may be at work. */
  async faults(url: string, final: boolean): Promise<readonly string[]> {
    const found = await this.#kind.read(url, this.#table);
    const faults = this.accounts.faults(found, await versionsOf(url, this.#table), final);
    return faults.map((fault) => `${this.#kind.name} ${this.#table}: ${fault}`);
  }

  /** Ends what works for its writers in other processes. */
  async cut(): Promise<void> {
    await this.#kind.cut?.();
  }

  /** Groups of rows that were made or marked more often than the audit log has attempts at that. */
  async unrecorded(url: string, audit: readonly LoggedRecord[]): Promise<readonly string[]> {
    if (this.#kind.isForeign === true) return [];
    const attempts = attemptsOn(this.#table, audit);
    return [...(await this.#kind.read(url, this.#table))].flatMap(([group, marks]) => {
      const own = attempts.filter((attempt) => attempt.group === group);
      const marked = own.filter(({ change }) => change === 'mark').length;
      const isRecorded = own.some(({ change }) => change === 'append') && marks <= marked;
      return isRecorded
        ? []
        : [`${this.#table}: group ${group} has no record of its ${marks} marks`];
    });
  }

  /** One change; says whether the gateway is still there. */
  async #change(url: string): Promise<boolean> {
    const change = this.#choose();
    this.accounts.begin(change.group, change.kind);
    try {
      const answered = await this.#kind.change(url, this.#table, change);
      if (answered.kind === 'made') this.accounts.acknowledge(change.group, answered.version);
      else if (answered.kind === 'refused') this.accounts.refuse(change.group);
      else {
        this.accounts.leave(change.group);
        await sleep(PAUSE_MILLIS);
      }
      return true;
    } catch (error) {
      this.accounts.leave(change.group);
      if (!isCut(error)) throw error;
      return false;
    }
  }

  #choose() {
    const { changes, most = Infinity } = this.#kind;
    const free = this.accounts.free();
    const kinds = free.length < most ? changes : changes.filter((kind) => kind !== 'append');
    const kind = kinds[this.#random(kinds.length)]!;
    if (kind === 'append' || free.length === 0) {
      return { kind: 'append', group: this.accounts.newGroup() } as const;
    }
    return { kind, group: free[this.#random(free.length)]! };
  }
}

interface Attempted {
  readonly group: number;
  readonly change: string | undefined;
}

function attemptsOn(table: string, audit: readonly LoggedRecord[]): readonly Attempted[] {
  return audit
    .filter((line) => line.phase === 'attempt' && line.context['table'] === table)
    .map(({ context }) => {
      return { group: Number(context['group'] ?? NaN), change: context['change'] };
    });
}

function isCut(error: unknown): boolean {
  const cut = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'];
  return error instanceof Error && 'code' in error && cut.includes(String(error.code));
}
