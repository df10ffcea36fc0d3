import type { ChildProcess } from 'node:child_process';

/** A connection of the system, as `cluster` hands it on. */
interface Handle {
  /** -1 once it is closed. */
  readonly fd: number;
  close(): void;
}

/** So many are looked through at once for those that are closed. */
const SWEEP = 64;

/**
 * The connections that were handed on to a process and that it may not have
 * taken yet. `cluster` keeps its own end of such a connection until the process
 * says that it has it; when that dies before, nobody would ever close it, and
 * its client would wait for ever.
 */
export class HandedConnections {
  #handles: Handle[] = [];

  /** @param child The process; whatever is sent to it from now on is seen. */
  constructor(child: ChildProcess) {
    const send = child.send.bind(child);
    child.send = (...sent: readonly unknown[]): boolean => {
      this.#note(sent[1]);
      return Reflect.apply(send, child, sent) === true;
    };
  }

  /** Closes those that were not taken: their clients learn that they must come again. */
  close(): void {
    for (const handle of this.#handles) if (handle.fd !== -1) handle.close();
    this.#handles = [];
  }

  #note(handle: unknown): void {
    if (!isHandle(handle)) return;
    this.#handles.push(handle);
    if (this.#handles.length >= SWEEP) this.#handles = this.#handles.filter(({ fd }) => fd !== -1);
  }
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'fd' in value && 'close' in value;
}
