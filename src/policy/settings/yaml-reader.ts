import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type YAMLMap,
} from 'yaml';
import type { PolicyFinding } from '../lines/policy-error.ts';

/** A mapping of a file with the lines that its keys stand in. */
export interface YamlMapping {
  readonly line: number;
  readonly values: ReadonlyMap<string, YamlValue>;
}

/** A value, as plain data, and where it stands. */
export interface YamlValue {
  readonly line: number;
  readonly value: unknown;
  readonly node: unknown;
}

/** Reads a YAML policy file strictly and collects faults. */
export class YamlReader {
  readonly findings: PolicyFinding[] = [];
  readonly #file: string;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#document = parseDocument(text, { lineCounter: this.#lines });
    for (const error of this.#document.errors) {
      this.fault(this.#lines.linePos(error.pos[0]).line, error.message.split('\n', 1)[0]!);
    }
  }

  /** The mappings in the list that is the one key of the file; none for an empty file. */
  list(key: string, allowed: readonly string[]): readonly YamlMapping[] {
    const root = this.#document.contents;
    if (this.findings.length > 0 || isNothing(root)) return [];
    if (!isMap(root)) return this.#none(1, `the file has the one key ${key}`);
    const { values } = this.mapping(root, [key]);
    const list = values.get(key);
    if (list === undefined || isNothing(list.node)) return [];
    const { node } = list;
    if (!isSeq(node)) return this.#none(list.line, `${key} is a list`);
    return node.items.flatMap((item) => {
      const target = this.#target(item);
      const line = this.#lineOf(item);
      return isMap(target)
        ? [this.mapping(target, allowed)]
        : this.#none(line, `an entry of ${key} is a mapping`);
    });
  }

  /** A mapping with any of the keys; others are findings. All keys are taken where none are given. */
  mapping(map: YAMLMap, allowed?: readonly string[]): YamlMapping {
    const values = new Map<string, YamlValue>();
    for (const { key, value } of map.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const line = this.#lineOf(key);
      if (allowed !== undefined && !allowed.includes(name)) {
        this.fault(line, `unknown key ${JSON.stringify(name)}: there are ${allowed.join(', ')}`);
        continue;
      }
      const node = this.#target(value);
      values.set(name, { line, node, value: plain(node, this.#document) });
    }
    return { line: this.#lineOf(map), values };
  }

  fault(line: number, text: string): void {
    this.findings.push({ file: this.#file, line, text });
  }

  #none(line: number, text: string): readonly [] {
    this.fault(line, text);
    return [];
  }

  #target(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node;
  }

  #lineOf(node: unknown): number {
    return this.#lines.linePos((node as Node | null)?.range?.[0] ?? 0).line;
  }
}

function isNothing(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

function plain(node: unknown, document: Document): unknown {
  return isNothing(node) ? null : (node as Node).toJS(document);
}
