/** The functions of the package that are used; it has no types of its own. */
declare module 'fs-native-extensions' {
  /**
   * Locks bytes of an open file for writing, as the open file description (`F_OFD_SETLK` on Linux).
   * @returns False if another open file has them locked.
   */
  export function tryLock(fd: number, offset: number, length: number): boolean;
  export function unlock(fd: number, offset: number, length: number): void;
}
