import { useState } from 'preact/hooks';
import { ApiError, post } from '../api.ts';
import { fieldOf } from '../form.ts';
import { EVER, time } from '../format.ts';
import { address, Link } from '../router.tsx';
import type { RequestDetails, Review as Mark } from '../types.ts';

const STATES = [
  ['seen', 'Seen'],
  ['flagged', 'Flagged'],
  ['unreviewed', 'Unreviewed'],
] as const;

/** The mark of a request, and a form that makes another. */
export function Review({ details }: { readonly details: RequestDetails }) {
  const { record, began } = details;
  const [mark, setMark] = useState<Mark | null>(details.review);
  const [fault, setFault] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const made = { mark: fieldOf(data, 'mark'), note: fieldOf(data, 'note') };
    setBusy(true);
    setFault(undefined);
    post<Omit<Mark, 'time'>>('review', { decision: record.decision_id, began, ...made })
      .then((found) => setMark({ ...found, time: new Date().toISOString() }))
      .catch((error: unknown) =>
        setFault(error instanceof ApiError ? error.message : String(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <section class="card" aria-label="Review">
      <h2>Review</h2>
      <div role="status">
        <Marked mark={mark} />
      </div>
      <form class="review" onSubmit={submit}>
        <label for="mark">Mark it as</label>
        <select id="mark" name="mark">
          {STATES.map(([value, name]) => (
            <option key={value} value={value} selected={value === (mark?.mark ?? 'seen')}>
              {name}
            </option>
          ))}
        </select>
        <label for="note">Note</label>
        <input id="note" name="note" maxLength={1000} autocomplete="off" />
        <button type="submit" disabled={isBusy}>
          Mark
        </button>
      </form>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <p class="faint">
        A mark is a record of the log.{' '}
        <Link
          to={address('trail', { since: EVER, operation: 'AuditReview', text: record.decision_id })}
        >
          All marks of this request
        </Link>
      </p>
    </section>
  );
}

function Marked({ mark }: { readonly mark: Mark | null }) {
  if (mark === null) return <p>Nobody has reviewed it yet.</p>;
  return (
    <p>
      <Reviewed state={mark.mark} /> by <strong>{mark.by ?? 'somebody'}</strong> at{' '}
      <span class="mono">{time(mark.time)} UTC</span>
      {mark.note !== '' && `: ${mark.note}`}
    </p>
  );
}

/** The state of a review, readable without its colour. */
export function Reviewed({ state }: { readonly state: Mark['mark'] }) {
  const kind = state === 'flagged' ? 'deny' : state === 'seen' ? 'allow' : 'other';
  return <span class={`decision ${kind}`}>{state}</span>;
}
