/**
 * Why an exchange with a backend failed. `unreached`: no connection, so nothing was
 * sent. `busy`: all its connections are in use. `stale`: a connection that was used before turned out to be closed.
 * `silent`: nothing came for too long. `broken`: it broke off. `client`: the
 * client went away.
 */
export type FaultKind = 'unreached' | 'busy' | 'stale' | 'silent' | 'broken' | 'client';

/** An exchange that failed. Its message goes on after the backend's name. */
export class ExchangeFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ExchangeFault';
    this.kind = kind;
  }
}
