/**
 * A value, or its promise while it is not available yet. For paths where a promise for each
 * call is measurable; elsewhere functions are `async`.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Applies a function to a value: at once if the value is available, else when its promise is fulfilled. */
export function andThen<Value, Result>(
  value: MaybePromise<Value>,
  apply: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(apply) : apply(value);
}

/** All values of a list: at once if each is available, else when the last promise is fulfilled. */
export function allOf<Value>(
  values: readonly MaybePromise<Value>[],
): MaybePromise<readonly Value[]> {
  return values.every(isAvailable) ? values : Promise.all(values);
}

/** Whether a value is available without waiting. */
export function isAvailable<Value>(value: MaybePromise<Value>): value is Value {
  return !(value instanceof Promise);
}

/**
 * Runs a step on each item, one after the other, until a step returns false. Synchronous as long as no step
 * waits.
 */
export function inTurn<Item>(
  items: readonly Item[],
  step: (item: Item) => MaybePromise<boolean>,
  from = 0,
): MaybePromise<void> {
  for (let at = from; at < items.length; at++) {
    const goesOn = step(items[at]!);
    if (goesOn instanceof Promise)
      return goesOn.then((goes) => (goes ? inTurn(items, step, at + 1) : undefined));
    if (!goesOn) return;
  }
}
