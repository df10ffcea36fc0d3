import { isMap } from 'yaml';
import { budgetKeys, type BudgetKey, type BudgetLimits } from '../../protocol/budget.ts';
import { parseDuration, parseSize } from '../../protocol/units.ts';
import { limitScopes, type LimitScope, type Rate } from './limit.ts';
import { parsePattern, subjectFault, type Pattern } from '../lines/pattern.ts';
import { nearestAction, rightsOf } from '../lines/rights.ts';
import type { YamlMapping, YamlReader, YamlValue } from './yaml-reader.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const RATE = /^([1-9]\d{0,6})\/([smh])$/;
const PREFIX = /^\/(\d{1,3})$/;
const MOST = 1_000_000;
const MICROS = { s: 1_000_000, m: 60_000_000, h: 3_600_000_000 } as const;
const YEAR_MICROS = 365 * 24 * MICROS.h;
/** The IPv6 prefix that one customer of a provider commonly has. */
const NETWORK_6 = 64;

const aSize = [parseSize, 'a size such as 64MiB'] as const;

/** Reader and expected form of each limit of a budget. */
const budgetKinds: Readonly<
  Record<BudgetKey, readonly [(text: string) => number | undefined, string]>
> = {
  time: [parseDuration, 'a duration such as 5s'],
  memory: aSize,
  result: aSize,
  decompressed: aSize,
  rows: [
    (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    'a whole number from 1 on',
  ],
};

/** Reads the values of one limit; faults go to the reader. */
export class LimitFields {
  readonly #reader: YamlReader;
  readonly #map: YamlMapping;

  constructor(reader: YamlReader, map: YamlMapping) {
    this.#reader = reader;
    this.#map = map;
  }

  has(key: string): boolean {
    return this.#map.values.has(key);
  }

  /** The line of a key, or that of the limit. */
  lineOf(key: string): number {
    return this.#map.values.get(key)?.line ?? this.#map.line;
  }

  fault(key: string, text: string): undefined {
    this.#reader.fault(this.lineOf(key), text);
  }

  name(): string {
    const name = this.#value('name');
    if (typeof name === 'string' && NAME.test(name)) return name;
    this.fault(
      'name',
      'a limit has a name of 1 to 64 letters, digits, dots, dashes and underscores',
    );
    return '';
  }

  subjects(): ReadonlySet<string> | null {
    const names = this.#texts('subjects', 'user:NAME, group:NAME, role:NAME or *');
    if (names === undefined) return null;
    for (const name of names) {
      const wrong = subjectFault(name);
      if (wrong !== undefined) this.fault('subjects', wrong);
    }
    return new Set(names);
  }

  /** The operations and access groups as they are written; null for all. */
  operations(): readonly string[] | null {
    const names = this.#texts('operations', 'operations or access groups');
    if (names === undefined) return null;
    for (const name of names) this.#checkAction('operations', name);
    return names;
  }

  objects(): readonly Pattern[] | null {
    const texts = this.#texts('objects', 'patterns of objects');
    if (texts === undefined) return null;
    return texts.flatMap((text) => {
      const result = parsePattern(text);
      if ('pattern' in result) return [result.pattern];
      this.fault('objects', result.fault);
      return [];
    });
  }

  per(): LimitScope {
    const per = this.#value('per');
    if (per === undefined) return 'subject';
    const found = limitScopes.find((scope) => scope === per);
    if (found !== undefined) return found;
    this.fault('per', `per is ${show(per)}, but must be one of ${limitScopes.join(', ')}`);
    return 'all';
  }

  network(per: LimitScope): { readonly 4: number; readonly 6: number } {
    const value = this.#value('network');
    if (value !== undefined && per !== 'network') {
      this.fault('network', `network does nothing without per: network`);
    }
    if (value === undefined && per === 'network') {
      this.fault('per', 'per: network needs network, such as /24');
    }
    return value === undefined ? { 4: 32, 6: NETWORK_6 } : this.#prefixes(value);
  }

  rate(): Rate | null {
    const value = this.#value('rate');
    if (value === undefined) return this.#noRate();
    const text = typeof value === 'string' ? value : '';
    const [, count, unit] = RATE.exec(text) ?? [];
    if (count === undefined || Number(count) > MOST) {
      this.fault('rate', `rate is ${show(value)}, but must be 1 to ${MOST} and /s, /m or /h`);
      return null;
    }
    const micros = MICROS[unit as keyof typeof MICROS] / Number(count);
    const burst = this.#whole('burst') ?? Number(count);
    if (micros * burst > YEAR_MICROS) {
      this.fault('burst', `a burst of ${burst} at ${text} takes more than a year to come back`);
    }
    return { text, intervalMicros: micros, burst };
  }

  concurrency(): number | null {
    return this.#whole('concurrency');
  }

  /** By operation, access group or `*`. */
  cost(): ReadonlyMap<string, number> {
    const given = this.#map.values.get('cost');
    if (given === undefined) return new Map();
    if (!isMap(given.node)) {
      this.fault('cost', 'cost is a mapping from operations, access groups or "*" to numbers');
      return new Map();
    }
    const { values } = this.#reader.mapping(given.node);
    return new Map([...values].map(([action, each]) => [action, this.#costEntry(action, each)]));
  }

  /** Limits on what one request uses, by their keys. */
  budget(): Partial<BudgetLimits> | null {
    const given = this.#map.values.get('budget');
    if (given === undefined) return null;
    if (!isMap(given.node) || given.node.items.length === 0) {
      this.fault('budget', `budget is a mapping with any of ${budgetKeys.join(', ')}`);
      return null;
    }
    const { values } = this.#reader.mapping(given.node, budgetKeys);
    const limits: Partial<Record<BudgetKey, number>> = {};
    for (const [key, each] of values) {
      const limit = this.#budgetEntry(key as BudgetKey, each);
      if (limit !== undefined) limits[key as BudgetKey] = limit;
    }
    return limits;
  }

  #budgetEntry(key: BudgetKey, { value, line }: YamlValue): number | undefined {
    const [parse, must] = budgetKinds[key];
    const limit =
      typeof value === 'string' || typeof value === 'number' ? parse(String(value)) : undefined;
    if (limit !== undefined && limit > 0) return limit;
    this.#reader.fault(line, `budget.${key} is ${show(value)}, but must be ${must}`);
    return undefined;
  }

  onStoreFailure(): 'open' | 'closed' {
    const value = this.#value('on_store_failure');
    if (value === undefined || value === 'open') return 'open';
    if (value !== 'closed') {
      this.fault(
        'on_store_failure',
        `on_store_failure is ${show(value)}, but must be open or closed`,
      );
    }
    return 'closed';
  }

  #value(key: string): unknown {
    return this.#map.values.get(key)?.value;
  }

  #texts(key: string, what: string): readonly string[] | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) {
      this.fault(key, `${key} is a list of ${what}`);
      return [];
    }
    if (value.length === 0) this.fault(key, `${key} is empty: the limit could never act`);
    return value;
  }

  #checkAction(key: string, name: string): void {
    if (rightsOf(name) !== undefined) return;
    const near = nearestAction(name);
    const hint = near === undefined ? '' : `: write ${near}`;
    this.fault(key, `unknown operation or access group ${JSON.stringify(name)}${hint}`);
  }

  #prefixes(value: unknown): { readonly 4: number; readonly 6: number } {
    const [four, six] = (Array.isArray(value) ? value : [value]).map((each) =>
      Number(typeof each === 'string' ? PREFIX.exec(each)?.[1] : undefined),
    );
    const fits = Array.isArray(value) ? value.length === 2 : true;
    const right = fits && inRange(four, 32) && inRange(six ?? NETWORK_6, 128);
    if (right) return { 4: four ?? 32, 6: six ?? NETWORK_6 };
    this.fault(
      'network',
      `network is ${show(value)}, but must be /1 to /32, or a list of that and /1 to /128 for IPv6`,
    );
    return { 4: 32, 6: NETWORK_6 };
  }

  #noRate(): null {
    for (const key of ['burst', 'cost']) {
      if (this.has(key)) this.fault(key, `${key} does nothing without rate`);
    }
    return null;
  }

  #costEntry(action: string, { value, line }: YamlValue): number {
    if (action !== '*') this.#checkAction('cost', action);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST) {
      return value;
    }
    this.#reader.fault(
      line,
      `the cost of ${action} is ${show(value)}, but must be a whole number from 0 to ${MOST}`,
    );
    return 1;
  }

  #whole(key: string): number | null {
    const value = this.#value(key);
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST) {
      return value;
    }
    this.fault(key, `${key} is ${show(value)}, but must be a whole number from 1 to ${MOST}`);
    return null;
  }
}

function inRange(value: number | undefined, most: number): boolean {
  return value !== undefined && value >= 1 && value <= most;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
