import type { Service } from '../support/service.ts';

/** How an attack ended: the status and the sentence of an answer, or what became of a connection. */
export type Ending = string;

/** One attack on a running service. */
export interface Attack {
  readonly name: string;
  /** What all of its endings are like: the key of the budget that ended it. */
  readonly endedBy: RegExp;
  /** Whether `npm test` runs it too. */
  readonly sample?: boolean;
  /** Whether it needs HTTP/2. */
  readonly tls?: boolean;
  /** Attacks, and resolves when it is over. */
  readonly run: (service: Service) => Promise<readonly Ending[]>;
}
