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
