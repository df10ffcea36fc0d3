import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type YAMLMap,
} from 'yaml';
import { PolicyError, type PolicyFinding } from '../lines/policy-error.ts';

/** Options of a schema. `expects` describes a valid value in words; a `hidden` value is not repeated in errors. */
interface Shape extends TSchema {
  readonly expects?: string;
  readonly hidden?: boolean;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  /** Of a mapping with any keys: the shape of its values. */
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly anyOf?: readonly Shape[];
}

/** A YAML file whose value fits its schema, with the lines where its parts stand. */
interface TypedYaml<Schema extends TSchema> {
  readonly value: Static<Schema>;
  /** The line of a part, such as `['issuers', 0, 'name']`; of what holds it where it is absent. */
  readonly lineOf: (path: readonly (string | number)[]) => number;
}

/**
 * Reads a YAML text that has to fit a schema.
 * @throws PolicyError with each key that is unknown, missing or has a wrong value.
 */
export function readTypedYaml<Schema extends TSchema>(
  file: string,
  text: string,
  schema: Schema,
): TypedYaml<Schema> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const walk: Walk = { file, document, lines, findings: [] };
  for (const error of document.errors) {
    const message = error.message.split('\n', 1)[0]!;
    walk.findings.push({ file, line: lines.linePos(error.pos[0]).line, text: message });
  }
  if (walk.findings.length === 0) judgeWhole(walk, schema);
  if (walk.findings.length > 0) throw new PolicyError(walk.findings);
  return {
    // Everything in it was checked against the schema.
    value: document.toJS() as Static<Schema>,
    lineOf: (path) => lineOf(walk, path),
  };
}

interface Walk {
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
  readonly findings: PolicyFinding[];
}

/** A file of aliases that stand for ever more is not spelled out. */
function judgeWhole(walk: Walk, schema: Shape): void {
  try {
    judge(walk, walk.document.contents, schema, '', 1);
  } catch (error) {
    walk.findings.push({ file: walk.file, text: `the file cannot be read: ${String(error)}` });
  }
}

function judge(walk: Walk, node: unknown, shape: Shape, name: string, line: number): void {
  const value = isNode(node) ? node.toJS(walk.document) : node;
  if (Check(shape, value)) return;
  const before = walk.findings.length;
  if (isMap(node)) judgeMap(walk, node, shape, name, line);
  if (isSeq(node) && shape.items !== undefined) {
    for (const item of node.items) judge(walk, item, shape.items, name, place(walk, item, line));
  }
  if (walk.findings.length > before) return;
  const what = name === '' ? 'the file' : name;
  const found = shape.hidden === true ? 'what it is' : describe(value);
  const text = `${what} must be ${shape.expects ?? 'something else'}, not ${found}`;
  walk.findings.push({ file: walk.file, line, text });
}

function judgeMap(walk: Walk, map: YAMLMap, shape: Shape, name: string, line: number): void {
  const [inner] = Object.values(shape.patternProperties ?? {});
  const whole = [shape, ...(shape.anyOf ?? [])].find(({ properties }) => properties !== undefined);
  if (whole !== undefined) judgeKeys(walk, map, whole, name, line);
  if (inner === undefined) return;
  for (const { key, value } of map.items) {
    judge(walk, value, inner, isScalar(key) ? String(key.value) : name, place(walk, key, line));
  }
}

function judgeKeys(walk: Walk, map: YAMLMap, shape: Shape, name: string, line: number): void {
  const { properties = {}, required = [] } = shape;
  const { file, findings } = walk;
  for (const { key, value } of map.items) {
    const inner = isScalar(key) ? String(key.value) : '';
    const at = place(walk, key, line);
    if (Object.hasOwn(properties, inner)) judge(walk, value, properties[inner]!, inner, at);
    else {
      const names = Object.keys(properties).join(', ');
      findings.push({
        file,
        line: at,
        text: `unknown key ${JSON.stringify(inner)}: there are ${names}`,
      });
    }
  }
  const what = name === '' ? 'the file' : `an entry of ${name}`;
  for (const inner of required.filter((key) => !map.has(key))) {
    findings.push({ file, line, text: `${what} has no ${inner}` });
  }
}

function place({ lines }: Walk, node: unknown, otherwise: number): number {
  const start = isNode(node) ? node.range?.[0] : undefined;
  return start === undefined ? otherwise : lines.linePos(start).line;
}

function lineOf(walk: Walk, path: readonly (string | number)[]): number {
  let node: unknown = walk.document.contents;
  let line = 1;
  for (const step of path) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && key.value === step)
      : undefined;
    const next: unknown = isSeq(node) ? node.items[Number(step)] : pair?.value;
    if (next === undefined) return line;
    line = place(walk, pair?.key ?? next, line);
    node = next;
  }
  return line;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value !== 'object') return JSON.stringify(value);
  return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping';
}
