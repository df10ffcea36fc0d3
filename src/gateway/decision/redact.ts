/** Stands for a value that must not be recorded. */
export const HIDDEN = '[redacted]';

/** Hides the values whose keys match one of the patterns. `*` matches any text; case is ignored. */
export function redactor(
  patterns: readonly string[],
): (entries: ReadonlyMap<string, string>) => Readonly<Record<string, string>> {
  const shapes = patterns.map(shapeOf);
  const hides = (key: string): boolean => shapes.some((shape) => shape.test(key));
  return (entries) =>
    Object.fromEntries([...entries].map(([key, value]) => [key, hides(key) ? HIDDEN : value]));
}

function shapeOf(pattern: string): RegExp {
  const literal = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`, 'is');
}
