import type { Sent } from './http.ts';

/**
 * A request that is refused: its line, what is sent with it, how it is told,
 * and the sentence.
 *
 * `404/400 allow 11` is the status to a client of the namespace specification,
 * the status to LanceDB where it is another, the decision of the policy, and
 * the code. A `key` is the name of a principal of the test, or a text as it is.
 */
export type Refusal = readonly [line: string, sent: Sent, told: string, error: string];

/**
 * What a catalog refuses that has the namespace `ns`, the tables `ns$t` (of two
 * versions, with two columns of vectors), `one` (with one) and `plain` (with none),
 * and the declared table `ns$declared`.
 */
export interface RefusalGroup {
  readonly what: string;
  readonly rows: readonly Refusal[];
}
