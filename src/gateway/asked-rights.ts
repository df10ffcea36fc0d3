import type { AskedRights } from '../audit/record.ts';
import type { Action } from '../protocol/operation.ts';

/** The rights that were asked for, in their order; those on many objects one after the other stand together. */
export class AskedRightsList {
  readonly #rights: {
    readonly action: Action;
    readonly branch: string | null;
    readonly objects: string[];
  }[] = [];

  /** @param object Canonical path. */
  add(action: Action, branch: string | null, object: string): void {
    const last = this.#rights.at(-1);
    if (last?.action !== action || last.branch !== branch) {
      this.#rights.push({ action, branch, objects: [object] });
    } else if (last.objects.at(-1) !== object) {
      last.objects.push(object);
    }
  }

  get all(): readonly AskedRights[] {
    return this.#rights;
  }
}
