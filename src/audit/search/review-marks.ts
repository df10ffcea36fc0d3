import { microsOf } from '../record/time.ts';
import { reviewStates, type RequestFilter, type ReviewState } from './filter.ts';
import { searchRequests, type FoundRequest } from './search.ts';

/** The operation whose records are marks. */
export const REVIEW_OPERATION = 'AuditReview';

/** The newest mark of a request. */
export interface ReviewMark {
  /** Decision id of the request. */
  readonly decision: string;
  /** Arrival of the request. */
  readonly began: string;
  readonly mark: ReviewState;
  readonly note: string;
  /** The reviewer. */
  readonly by: string | null;
  /** When the mark was made, and the decision id of its record. */
  readonly time: string;
  readonly record: string;
}

/** Names and values of the record of a mark. */
export function markDetails(
  mark: Pick<ReviewMark, 'decision' | 'began' | 'mark' | 'note'>,
): Readonly<Record<string, string>> {
  const { decision, began, mark: state, note } = mark;
  return { reviewed: decision, began, mark: state, ...(note !== '' && { note }) };
}

/**
 * Marks of an audit folder by the decision ids of their requests; a later mark takes the place of an earlier one.
 * @param since Arrival of the requests at this time or later: a mark follows its request.
 */
export async function reviewMarks(
  folder: string,
  since?: bigint,
): Promise<ReadonlyMap<string, ReviewMark>> {
  const marks = new Map<string, ReviewMark>();
  const filter: RequestFilter = {
    operations: new Set([REVIEW_OPERATION]),
    decision: 'allow',
    ...(since === undefined ? {} : { since }),
  };
  for await (const found of searchRequests(folder, filter)) {
    for (const mark of found.flatMap(markOf)) {
      const before = marks.get(mark.decision);
      if (before === undefined || before.time <= mark.time) marks.set(mark.decision, mark);
    }
  }
  return marks;
}

function markOf({ record, began }: FoundRequest): readonly ReviewMark[] {
  const { reviewed, began: arrival, mark, note = '' } = record.context;
  const state = reviewStates.find((each) => each === mark);
  const isMark = reviewed !== undefined && arrival !== undefined && state !== undefined;
  if (!isMark || record.phase !== 'outcome') return [];
  const { subject: by, decision_id } = record;
  return [
    { decision: reviewed, began: arrival, mark: state, note, by, time: began, record: decision_id },
  ];
}

/**
 * A filter that compares requests with the marks of the log, if it asks for their review.
 * @param known The marks, if they were read before.
 */
export async function withMarks(
  folder: string,
  filter: RequestFilter,
  known?: ReadonlyMap<string, ReviewMark>,
): Promise<RequestFilter> {
  const { review, since } = filter;
  if (review === undefined || filter.reviewed !== undefined) return filter;
  const marks = known ?? (await reviewMarks(folder, since));
  const stateOf = (id: string): ReviewState => marks.get(id)?.mark ?? 'unreviewed';
  const reviewed = (id: string): boolean => stateOf(id) === review;
  if (review === 'unreviewed') return { ...filter, reviewed };
  return { ...filter, ...boundsOf(marks.values(), filter), reviewed };
}

/** The window of a filter without the time in which no request was marked. */
function boundsOf(
  marks: Iterable<ReviewMark>,
  { since = 0n, until }: RequestFilter,
): Pick<RequestFilter, 'since' | 'until'> {
  const times = [...marks].map(({ began }) => microsOf(began));
  const first = times.reduce((least, each) => (each < least ? each : least), MOST);
  const last = times.reduce((most, each) => (each > most ? each : most), 0n);
  return {
    since: since > first ? since : first,
    until: until !== undefined && until <= last ? until : last + 1n,
  };
}

/** After every time of a log. */
const MOST = 253_402_300_800_000_000n;
