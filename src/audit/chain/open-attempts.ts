/** Maximum number of attempts without an outcome that are tracked. */
const MOST_ATTEMPTS = 65_536;
const PHASE = '"phase":"';
const DECISION = '"decision_id":"';
const PHASE_AT = PHASE.length;
const OUTCOME = 'o';
const OUTCOME_BYTE = OUTCOME.charCodeAt(0);
const QUOTE = 0x22;

/** Attempts without an outcome, up to a record of an instance. */
export interface AttemptsNote {
  /** Number of records that were considered. */
  readonly count: bigint;
  /** Sequence numbers of the attempts by their decisions. */
  readonly open: ReadonlyMap<string, bigint>;
}

/** A change of the open attempts that is not durable yet. */
interface Change {
  readonly decision: string;
  /** The number of the attempt before the change; undefined if it was not open. */
  readonly before: number | undefined;
}

/** Tracks the attempts without an outcome among the records that are framed. */
export class OpenAttempts {
  readonly #open = new Map<string, number>();
  #changes: Change[] = [];
  #overflown = false;

  /** Adds a record, whose text begins with its phase. */
  add(fields: Uint8Array | string, sequence: number): void {
    const { isOutcome, decision } = typeof fields === 'string' ? inText(fields) : inBytes(fields);
    const before = this.#open.get(decision);
    if (isOutcome && before === undefined) return;
    this.#changes.push({ decision, before });
    if (isOutcome) this.#open.delete(decision);
    else if (this.#open.size < MOST_ATTEMPTS) this.#open.set(decision, sequence);
    else this.#overflown = true;
  }

  /** All records that were added are on stable storage. */
  onDurable(): void {
    this.#changes = [];
  }

  /** The records since then are not in the log. */
  dropped(): void {
    for (const { decision, before } of this.#changes.toReversed()) {
      if (before === undefined) this.#open.delete(decision);
      else this.#open.set(decision, before);
    }
    this.#changes = [];
  }

  /**
   * The open attempts among the first records.
   * @param count Number of those records.
   * @returns Undefined if there were too many open attempts to track.
   */
  note(count: bigint): AttemptsNote | undefined {
    if (this.#overflown) return undefined;
    const open = [...this.#open].map(
      ([decision, sequence]) => [decision, BigInt(sequence)] as const,
    );
    return { count, open: new Map(open) };
  }
}

interface Half {
  readonly isOutcome: boolean;
  readonly decision: string;
}

function inText(fields: string): Half {
  const start = fields.indexOf(DECISION) + DECISION.length;
  const decision = fields.slice(start, fields.indexOf('"', start));
  return { isOutcome: fields[PHASE_AT] === OUTCOME, decision };
}

/** The fields before the decision hold no text of a caller that could look like it. */
function inBytes(fields: Uint8Array): Half {
  const bytes = Buffer.from(fields.buffer, fields.byteOffset, fields.byteLength);
  const start = bytes.indexOf(DECISION, 0, 'latin1') + DECISION.length;
  const decision = bytes.toString('latin1', start, bytes.indexOf(QUOTE, start));
  return { isOutcome: bytes[PHASE_AT] === OUTCOME_BYTE, decision };
}
