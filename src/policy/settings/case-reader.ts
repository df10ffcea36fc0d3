import { Check } from 'typebox/value';
import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Document,
  type LineCounter,
  type Node,
  type YAMLMap,
} from 'yaml';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { parseObject, subjectFault } from '../lines/pattern.ts';
import type { PolicyFinding } from '../lines/policy-error.ts';
import { accessGroups, rightNames } from '../lines/rights.ts';
import {
  supposedCircumstances,
  supposedFaults,
  type Circumstances,
} from '../conditions/circumstances.ts';
import { valueSources, type Supposed, type ValueSource } from '../conditions/kinds.ts';
import { formatMask, readMask } from './masks.ts';
import { maskSchema, plainMaskNames } from './restrictions-schema.ts';

/** The file of a policy's own tests. */
export const CASES_FILE = 'cases.yaml';

/** One expectation: this subject, doing this to that, is allowed or denied. */
export interface PolicyCase {
  readonly line: number;
  readonly subject: string;
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  readonly action: Action;
  readonly object: ObjectPath;
  readonly objectText: string;
  readonly circumstances: Circumstances;
  readonly expect: 'allow' | 'deny';
  /** Restrictions whose row filters bind, by name or SQL; null if the case does not say. */
  readonly rows: readonly string[] | null;
  /** `COLUMN: hidden` or `COLUMN: MASK` for each hidden and masked column; null if the case does not say. */
  readonly columns: readonly string[] | null;
  readonly because: string;
}

const KEYS = [
  'subject',
  'groups',
  'roles',
  'action',
  'object',
  ...valueSources.map(({ name }) => name),
  'expect',
  'rows',
  'columns',
  'because',
];

const MASKS: ReadonlySet<unknown> = new Set(plainMaskNames);

const ACTIONS: ReadonlySet<string> = new Set([...rightNames, ...accessGroups]);

/** Reads the nodes of the file and collects faults. */
export class CaseReader {
  readonly findings: PolicyFinding[] = [];
  readonly #lines: LineCounter;
  readonly #linesBefore: number;

  /** @param linesBefore By how many lines the text that is read begins later in the file. */
  constructor(lines: LineCounter, linesBefore: number) {
    this.#lines = lines;
    this.#linesBefore = linesBefore;
  }

  read(document: Document.Parsed): readonly PolicyCase[] {
    for (const error of document.errors) {
      const line = this.#lineAt(error.pos[0]);
      this.findings.push({ file: CASES_FILE, line, text: error.message.split('\n', 1)[0]! });
    }
    const root = document.contents;
    if (this.findings.length > 0 || root === null) return [];
    if (!isMap(root)) return this.#nothing(root, 'the file has the one key cases');
    this.#refuseKeys(root, ['cases']);
    const list = root.get('cases', true);
    if (list === undefined || (isScalar(list) && list.value === null)) return [];
    if (!isSeq(list)) return this.#nothing(list as Node, 'cases is a list');
    return list.items.flatMap((item) => this.#readCase(item as Node));
  }

  #readCase(node: Node): readonly PolicyCase[] {
    if (!isMap(node)) return this.#nothing(node, 'a case is a mapping');
    this.#refuseKeys(node, KEYS);
    const before = this.findings.length;
    const objectText = this.#text(node, 'object');
    const action = this.#action(node);
    const one = {
      line: this.#lineOf(node),
      subject: this.#subject(node, this.#text(node, 'subject'), ''),
      groups: this.#names(node, 'groups', 'group:'),
      roles: this.#names(node, 'roles', 'role:'),
      action,
      object: this.#object(node, objectText),
      objectText,
      circumstances: supposedCircumstances(action, this.#supposed(node)),
      expect: this.#expect(node),
      rows: this.#rows(node),
      columns: this.#columns(node),
      because: this.#optional(node, 'because') ?? '',
    };
    const seen = one.rows ?? one.columns;
    if (one.expect === 'deny' && seen !== null) {
      this.#fault(node, 'rows and columns are of a case that expects allow');
    }
    return this.findings.length === before ? [one] : [];
  }

  #refuseKeys(map: YAMLMap, allowed: readonly string[]): void {
    for (const { key } of map.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (allowed.includes(name)) continue;
      this.#fault(
        key as Node,
        `unknown key ${JSON.stringify(name)}: there are ${allowed.join(', ')}`,
      );
    }
  }

  #text(map: YAMLMap, key: string): string {
    const value = map.get(key);
    if (typeof value === 'string' && value !== '') return value;
    this.#fault(map, `${key} is missing or is no text`);
    return '';
  }

  #optional(map: YAMLMap, key: string): string | undefined {
    return map.has(key) ? this.#text(map, key) : undefined;
  }

  #supposed(map: YAMLMap): Supposed {
    const supposed = new Map(valueSources.flatMap((source) => this.#textsOf(map, source)));
    for (const text of supposedFaults(supposed)) this.#fault(map, text);
    return supposed;
  }

  /** The texts of a value in a case, by its name, or by each of its keys. */
  #textsOf(map: YAMLMap, { name, keyed }: ValueSource): readonly (readonly [string, string])[] {
    if (!map.has(name)) return [];
    if (!keyed) return [[name, this.#text(map, name)]];
    const texts = map.get(name);
    if (texts === undefined) return [];
    if (!isMap(texts)) return this.#nothing(map, `${name} is a mapping of keys to texts`);
    const keys = texts.items.map(({ key }) => (isScalar(key) ? String(key.value) : ''));
    return keys.map((key) => [`${name}.${key}`, this.#text(texts, key)]);
  }

  #names(map: YAMLMap, key: string, prefix: string): readonly string[] {
    const list = map.get(key);
    if (list === undefined || (isScalar(list) && list.value === null)) return [];
    if (!isSeq(list)) return this.#nothing(map, `${key} is a list of names that begin ${prefix}`);
    return list.items.map((item) =>
      this.#subject(map, isScalar(item) ? String(item.value) : '', prefix),
    );
  }

  #subject(map: YAMLMap, name: string, prefix: string): string {
    const wrong = name.startsWith(prefix) ? subjectFault(name) : `a name begins ${prefix} here`;
    if (wrong !== undefined && name !== '') this.#fault(map, wrong);
    return name;
  }

  #action(map: YAMLMap): Action {
    const action = this.#text(map, 'action');
    if (action !== '' && !ACTIONS.has(action)) {
      this.#fault(map, `unknown action ${JSON.stringify(action)}`);
    }
    return action as Action;
  }

  #object(map: YAMLMap, text: string): ObjectPath {
    const path = parseObject(text);
    if (path === undefined && text !== '') {
      this.#fault(map, `the object ${JSON.stringify(text)} is no canonical path`);
    }
    return path ?? [];
  }

  #expect(map: YAMLMap): 'allow' | 'deny' {
    const text = this.#text(map, 'expect');
    if (text !== '' && text !== 'allow' && text !== 'deny') {
      this.#fault(map, `expect is ${JSON.stringify(text)}: write allow or deny`);
    }
    return text === 'allow' ? 'allow' : 'deny';
  }

  #rows(map: YAMLMap): readonly string[] | null {
    if (!map.has('rows')) return null;
    const found: unknown = toJs(map.get('rows', true));
    const texts: readonly unknown[] = Array.isArray(found) ? found : [found];
    if (texts.every((text) => typeof text === 'string' && text !== '')) return texts as string[];
    const text = 'rows is a list of restrictions that filter rows, by name or by their SQL';
    return this.#nothing(map.get('rows', true) as Node, text);
  }

  #columns(map: YAMLMap): readonly string[] | null {
    if (!map.has('columns')) return null;
    const node = map.get('columns', true) as Node;
    if (!isMap(node)) return this.#nothing(node, 'columns is a mapping of columns to masks');
    return node.items.map(({ key, value }) => {
      const column = isScalar(key) ? String(key.value) : '';
      return `${column}: ${this.#mask(column, (value ?? key) as Node)}`;
    });
  }

  /** A mask as `restrictions.yaml` has it, or its name alone. */
  #mask(column: string, node: Node): string {
    const found = toJs(node);
    if (found === 'hidden') return found;
    const entry = MASKS.has(found) ? { mask: found } : found;
    if (Check(maskSchema, entry)) {
      return formatMask(readMask(column, entry, (text) => this.#fault(node, text)));
    }
    this.#fault(
      node,
      `the column ${column} is hidden, ${plainMaskNames.join(', ')}, or a mapping with the key mask`,
    );
    return '';
  }

  #nothing(node: Node, text: string): readonly [] {
    this.#fault(node, text);
    return [];
  }

  #fault(node: Node, text: string): void {
    this.findings.push({ file: CASES_FILE, line: this.#lineOf(node), text });
  }

  #lineOf(node: Node): number {
    return this.#lineAt(node.range?.[0] ?? 0);
  }

  #lineAt(offset: number): number {
    return this.#lines.linePos(offset).line + this.#linesBefore;
  }
}

function toJs(node: unknown): unknown {
  return isNode(node) ? node.toJSON() : node;
}
