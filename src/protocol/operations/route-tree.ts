import type { Operation } from './operation.ts';
import { operationNames, operations } from './operations.ts';

/** A place in the tree of routes, one level for each segment of a path. */
interface RouteNode {
  readonly literals: Map<string, RouteNode>;
  /** The child of a segment that may be anything. */
  parameter?: RouteNode;
  /** The routes that end here, by verb. */
  readonly ends: Map<string, RouteEnd>;
}

/** End of a route: its operation and the names of its parameters in order. */
export interface RouteEnd {
  readonly operation: Operation;
  readonly parameters: readonly string[];
}

/** A known path: its routes by verb, and the segments of its parameters. */
interface RoutePlace {
  readonly ends: ReadonlyMap<string, RouteEnd>;
  readonly values: readonly string[];
}

const PARAMETER = /^\{(.+)\}$/;

const root = compile();

function compile(): RouteNode {
  const top = newNode();
  for (const name of operationNames) {
    for (const { method, path } of operations[name].routes)
      add(top, operations[name], method, path);
  }
  return top;
}

function newNode(): RouteNode {
  return { literals: new Map(), ends: new Map() };
}

function add(top: RouteNode, operation: Operation, method: string, path: string): void {
  const parameters: string[] = [];
  let node = top;
  for (const segment of path.slice(1).split('/')) {
    const name = PARAMETER.exec(segment)?.[1];
    if (name !== undefined) parameters.push(name);
    node = name === undefined ? literalChild(node, segment) : (node.parameter ??= newNode());
  }
  node.ends.set(method, { operation, parameters });
}

function literalChild(node: RouteNode, segment: string): RouteNode {
  let child = node.literals.get(segment);
  if (child === undefined) node.literals.set(segment, (child = newNode()));
  return child;
}

/** The place of a path by its segments. A literal segment wins over a parameter wherever the rest fits too. */
export function findRoute(segments: readonly string[]): RoutePlace | undefined {
  return find(root, segments, 0);
}

function find(node: RouteNode, segments: readonly string[], at: number): RoutePlace | undefined {
  const segment = segments[at];
  if (segment === undefined)
    return node.ends.size > 0 ? { ends: node.ends, values: [] } : undefined;
  const literal = node.literals.get(segment);
  const place = literal && find(literal, segments, at + 1);
  if (place !== undefined || node.parameter === undefined) return place;
  const below = find(node.parameter, segments, at + 1);
  return below && { ends: below.ends, values: [segment, ...below.values] };
}
