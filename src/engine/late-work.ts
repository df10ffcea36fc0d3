import type { OnFault } from './jobs/job-runner.ts';

/** Something whose work in the background can begin. */
export interface Worker {
  startWork(onFault: OnFault): void;
}

/** Begins the work of an engine that opens later than it is told to. */
export class LateWork {
  #worker: Worker | undefined;
  #onFault: OnFault | undefined;

  start(onFault: OnFault): void {
    this.#onFault = onFault;
    this.#worker?.startWork(onFault);
  }

  /** Takes an engine once it is open; gives back what it was given. */
  of<Opened extends Worker | string>(opened: Opened): Opened {
    if (typeof opened === 'string') return opened;
    this.#worker = opened;
    if (this.#onFault !== undefined) opened.startWork(this.#onFault);
    return opened;
  }
}
