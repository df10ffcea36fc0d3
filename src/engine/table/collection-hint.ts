/** So many bytes are worth a collection. */
const MUCH = 2 ** 24;

/** More than V8 lets buffers grow by since it collected last before it looks again: that is 64 MiB. */
const ENOUGH = 2 ** 27;

/**
 * Has memory of buffers that were just dropped collected soon, if it is much. V8
 * does so only when many more are made, and who dropped them may make none. A
 * buffer that nothing is written to counts as one, and takes no memory of the
 * machine.
 * @param dropped About how many bytes they had.
 */
export function hintCollection(dropped: number): void {
  if (dropped < MUCH) return;
  try {
    void new ArrayBuffer(ENOUGH);
  } catch {
    // A machine that does not give so much even unused goes without the hint.
  }
}
