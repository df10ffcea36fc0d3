import { decodeRecord } from '../record/decoding.ts';
import type { DecidedRecord, DecidedRequest, ConditionInputs } from './request.ts';
import type { Phase } from '../record/record.ts';

const PHASE = '"phase":"';
const TIME = '"time":"';
const DURATION = '"duration_us":';
const ID = '"decision_id":"';

/**
 * A request, read from the line of its outcome, or of its attempt if there is no outcome.
 * Fields are found by their names, which no value can contain: a quote inside a value is
 * escaped.
 */
export class RequestLine implements DecidedRequest {
  readonly #line: string;

  constructor(line: string) {
    this.#line = line;
  }

  get phase(): Phase {
    return this.#after(PHASE).startsWith('o') ? 'outcome' : 'attempt';
  }

  get decisionId(): string {
    return this.#quoted(ID);
  }

  get time(): string {
    return this.#quoted(TIME);
  }

  get key(): string {
    return (
      this.#between(',"principal":', ',"subject":') + this.#between(',"operation":', ',"status":')
    );
  }

  conditionInputs(): ConditionInputs {
    const context = JSON.parse(this.#context()) as ConditionInputs['context'];
    const duration = Number.parseInt(this.#after(DURATION), 10);
    return {
      ip: textIn(this.#between(',"source_ip":', ',"user_agent":')),
      context,
      time: this.time,
      durationMicros: Number.isNaN(duration) ? 0n : BigInt(duration),
    };
  }

  userAgent(): string | null {
    return textIn(this.#between(',"user_agent":', ',"operation":'));
  }

  readColumns(): readonly string[] | null {
    const name = ',"read":{"columns":';
    const start = this.#line.lastIndexOf(name);
    if (start < 0) return null;
    const end = this.#line.indexOf(',"rows":', start);
    return JSON.parse(this.#line.slice(start + name.length, end)) as readonly string[];
  }

  record(): DecidedRecord {
    // A substring would keep the whole piece of the file in memory.
    return decodeRecord(Buffer.from(this.#line).toString());
  }

  /** Its keys come from the caller and may be named like the next field, which is the last one of that name. */
  #context(): string {
    const name = ',"context":';
    const start = this.#line.indexOf(name) + name.length;
    return this.#line.slice(start, this.#line.lastIndexOf(',"commit":'));
  }

  #quoted(name: string): string {
    const start = this.#line.indexOf(name) + name.length;
    return this.#line.slice(start, this.#line.indexOf('"', start));
  }

  #after(name: string): string {
    const start = this.#line.indexOf(name) + name.length;
    return this.#line.slice(start, start + 20);
  }

  #between(name: string, next: string): string {
    const start = this.#line.indexOf(name) + name.length;
    return this.#line.slice(start, this.#line.indexOf(next, start));
  }
}

function textIn(json: string): string | null {
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : null;
}
