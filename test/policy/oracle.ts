import { canonicalPath, type ObjectPath } from '../../src/protocol/identifier.ts';
import type { AccessGroup, Action } from '../../src/protocol/operations/operation.ts';
import { operationNames, operationsOf } from '../../src/protocol/operations/operations.ts';
import type { KeyScope } from '../../src/protocol/principal.ts';

/** A policy line as a test writes it. */
export interface PlainLine {
  readonly subject: string;
  readonly object: string;
  readonly action: string;
  readonly effect: 'allow' | 'deny';
}

type Rights = ReadonlySet<Action>;

/** Every operation, and the group that has none. */
const everyRight: Rights = new Set<Action>([...operationNames, 'audit']);

/**
 * The semantics of policies, written down line by line and
 * without any index: what the compiled policy has to agree with.
 */
export class Oracle {
  readonly #lines: readonly PlainLine[];
  readonly #scopes: readonly KeyScope[] | undefined;

  /** Of a principal to whom the lines of these subjects apply. */
  constructor(
    lines: readonly PlainLine[],
    names: readonly string[],
    scopes: readonly KeyScope[] | undefined,
  ) {
    this.#lines = lines.filter(({ subject }) => names.includes(subject));
    this.#scopes = scopes;
  }

  /** Every right that is held on the object. */
  held(object: ObjectPath): Rights {
    const listed = object[0] === 'system' ? [] : operationsOf('list');
    return new Set([...this.#lawful(object), ...listed]);
  }

  /** Whether a listing shows the object, as far as it alone goes. */
  shows(object: ObjectPath): boolean {
    return this.#lawful(object).size > 0;
  }

  /** What lines and scopes together give, without what every listing is given. */
  #lawful(object: ObjectPath): Rights {
    const covered = this.#covered(object);
    return new Set([...this.#allowed(object)].filter((right) => covered.has(right)));
  }

  #allowed(object: ObjectPath): Rights {
    const denied = this.#matched(object, 'deny');
    const undenied = (rights: Iterable<Action>) =>
      new Set([...rights].filter((right) => !denied.has(right)));
    const effective = undenied(this.#matched(object, 'allow'));
    if (object[0] === 'system') return effective.has('audit') ? undenied(everyRight) : new Set();
    return effective.size === 0 ? effective : undenied([...effective, ...operationsOf('describe')]);
  }

  #matched(object: ObjectPath, effect: string): Rights {
    const lines = this.#lines.filter(
      (line) => line.effect === effect && names(line.object, object),
    );
    return new Set(lines.flatMap((line) => [...rightsIn(line.action)]));
  }

  #covered(object: ObjectPath): Rights {
    if (this.#scopes === undefined) return everyRight;
    const about = this.#scopes.filter(({ pattern }) => names(pattern, object));
    const given = new Set(about.flatMap(({ action }) => [...rightsIn(action)]));
    if (object[0] === 'system') return given.has('audit') ? everyRight : new Set();
    return about.length === 0 ? given : new Set([...given, ...operationsOf('describe')]);
  }
}

const expressions = new Map<string, RegExp>();

/** Whether a pattern names an object, by its canonical text and a regular expression. */
function names(pattern: string, object: ObjectPath): boolean {
  let expression = expressions.get(pattern);
  if (expression === undefined) {
    const parts = pattern === '/' ? [] : pattern.split('/').slice(1);
    const sources = parts.map((part) =>
      part === '**' ? '(/[^/]+)*' : part === '*' ? '/[^/]+' : `/${part}`,
    );
    expression = new RegExp(`^${sources.join('')}$`);
    expressions.set(pattern, expression);
  }
  return expression.test(object.length === 0 ? '' : canonicalPath(object));
}

function rightsIn(action: string): Rights {
  if (action === '*') return everyRight;
  const group = operationsOf(action as AccessGroup);
  return new Set(group.length > 0 ? group : [action as Action]);
}
