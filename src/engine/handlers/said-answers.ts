import type { Answer, CatalogRequest } from '../../protocol/backend.ts';
import type { TableRecord } from '../catalog/records.ts';
import type { Call } from '../handler.ts';
import type { Snapshot } from '../table/snapshot.ts';

/** What a description is made of, beside the name and the dialect that it is asked in. */
export interface Described {
  readonly table: TableRecord;
  readonly snapshot: Snapshot;
  readonly withUri: boolean;
}

interface Said extends Pick<Described, 'table' | 'withUri'>, Pick<CatalogRequest, 'dialect'> {
  readonly name: string;
  readonly answer: Answer;
}

/**
 * Descriptions that were put in words before. A record and a snapshot never change,
 * and both are read for each request: as long as they are the same objects, so is
 * what is said of them. Of each snapshot the last description is kept, as long as it is itself.
 */
export class SaidAnswers {
  readonly #make: (call: Call, described: Described) => Answer;
  readonly #last = new WeakMap<Snapshot, Said>();

  constructor(make: (call: Call, described: Described) => Answer) {
    this.#make = make;
  }

  of(call: Call, described: Described): Answer {
    const { object, dialect, root = [] } = call.request;
    const { table, snapshot, withUri } = described;
    // Names hold no control character.
    const name = `${root.length} ${object.join('\0')}`;
    const last = this.#last.get(snapshot);
    if (last?.table === table && last.name === name) {
      if (last.dialect === dialect && last.withUri === withUri) return last.answer;
    }
    const answer = this.#make(call, described);
    this.#last.set(snapshot, { table, name, dialect, withUri, answer });
    return answer;
  }
}
