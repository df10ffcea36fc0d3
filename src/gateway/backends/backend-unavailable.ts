import { TryAgain } from '../../protocol/errors.ts';

/** A remote backend that cannot answer. */
export class BackendUnavailable extends TryAgain {}
