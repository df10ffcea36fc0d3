import { useEffect, useState } from 'preact/hooks';
import { ApiError, lines, useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { bytes, count, duration, EVER, time } from '../format.ts';
import { address, go, Link } from '../router.tsx';
import { Decision, Empty, StateOf } from '../states.tsx';
import type { Page, Row, Traffic, TrafficKey } from '../types.ts';
import { Reviewed } from './review.tsx';

/** Filters in the address, as the service names them. */
const FILTERS = [
  'since',
  'until',
  'subject',
  'object',
  'operation',
  'backend',
  'decision',
  'status',
  'column',
  'text',
  'review',
  'canary',
] as const;

type Filter = Readonly<Record<(typeof FILTERS)[number], string>>;

/** A search without a period is one of the last day. */
const DEFAULT_SINCE = '24h';

const PERIODS = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  [EVER, 'All there is'],
] as const;

const EXPORTS = [
  ['csv', 'CSV'],
  ['json', 'JSON'],
  ['arrow', 'Arrow'],
] as const;

const DECISIONS = [
  'allow',
  'deny',
  'unauthenticated',
  'limited',
  'over budget',
  'invalid',
  'unavailable',
  'refused',
];

const REVIEWS = ['seen', 'flagged', 'unreviewed'];

/** Searches that reviewers need again and again; each is an address, as every search is. */
const SEARCHES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['Refusals', { decision: 'deny' }],
  ['Limits hit', { decision: 'limited' }],
  ['Failures', { status: '5xx' }],
  ['Unknown callers', { decision: 'unauthenticated' }],
  ['Changed policies', { operation: 'PolicyReload', since: '30d' }],
  ['New keys', { operation: 'KeysCreate', since: '30d' }],
  ['Canaries', { canary: 'any', since: EVER }],
  ['Flagged', { review: 'flagged', since: EVER }],
];

function filterOf(query: URLSearchParams): Filter {
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ''])) as Filter;
  return given.since === '' ? { ...given, since: DEFAULT_SINCE } : given;
}

export function Trail({ query }: { readonly query: URLSearchParams }) {
  const filter = filterOf(query);
  const live = query.get('live') === 'on';
  const after = query.get('after') ?? '';
  const path = address('requests', { ...filter, after });
  const page = useApi<Page>(path);
  return (
    <>
      <div class="title">
        <h1>Trail</h1>
        <div class="actions">
          <Link to={address('trail', { ...filter, live: live ? '' : 'on' })} class="button">
            {live ? 'Stop following' : 'Follow live'}
          </Link>
          <span class="faint">Download</span>
          {EXPORTS.map(([format, name]) => (
            <a
              key={format}
              class="button"
              href={`/console/api/${address('export', { ...filter, format })}`}
            >
              {name}
            </a>
          ))}
        </div>
      </div>
      <nav class="periods" aria-label="Searches">
        {SEARCHES.map(([name, given]) => (
          <Link key={name} to={address('trail', { since: DEFAULT_SINCE, ...given })}>
            {name}
          </Link>
        ))}
      </nav>
      <FilterForm key={JSON.stringify(filter)} filter={filter} />
      <div class="with-side">
        <section aria-label="Requests" class="wide">
          {live ? (
            <LiveRows filter={filter} />
          ) : (
            <StateOf of={page} what="requests">
              {(found) => <Found page={found} filter={filter} isFirst={after === ''} />}
            </StateOf>
          )}
        </section>
        {[filter.text, filter.column, filter.review, filter.canary].every(
          (value) => value === '',
        ) && <Facets filter={filter} />}
      </div>
    </>
  );
}

function FilterForm({ filter }: { readonly filter: Filter }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const given = FILTERS.map((name) => [name, fieldOf(data, name)] as const);
    go(address('trail', Object.fromEntries(given)));
  };
  const isNamed = PERIODS.some(([value]) => value === filter.since);
  return (
    <form class="filters" onSubmit={submit} role="search" aria-label="Filter of requests">
      <div>
        <label for="since">Since</label>
        <select id="since" name="since">
          {PERIODS.map(([value, name]) => (
            <option key={value} value={value} selected={value === filter.since}>
              {name}
            </option>
          ))}
          {!isNamed && (
            <option value={filter.since} selected>
              {filter.since}
            </option>
          )}
        </select>
      </div>
      <Field name="until" label="Until" hint="now" value={filter.until} />
      <Field name="subject" label="Who" hint="user:alice" value={filter.subject} />
      <Field name="object" label="Object" hint="/prod/sales/**" value={filter.object} />
      <Field name="operation" label="Operation" hint="QueryTable, read" value={filter.operation} />
      <Field name="backend" label="Backend" hint="embedded" value={filter.backend} />
      <div>
        <label for="decision">Decision</label>
        <select id="decision" name="decision">
          <option value="">any</option>
          {DECISIONS.map((name) => (
            <option key={name} value={name} selected={name === filter.decision}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <Field name="status" label="Status" hint="403 or 4xx" value={filter.status} />
      <Field name="column" label="Column read" hint="salary" value={filter.column} />
      <Field name="canary" label="Canary of" hint="a name, or any" value={filter.canary} />
      <Field name="text" label="Text" hint="in any field" value={filter.text} />
      <div>
        <label for="review">Review</label>
        <select id="review" name="review">
          <option value="">any</option>
          {REVIEWS.map((name) => (
            <option key={name} value={name} selected={name === filter.review}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div class="submit">
        <button type="submit" class="primary">
          Search
        </button>
        <Link to="trail">Clear</Link>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
}

function Field({ name, label, hint, value }: FieldProps) {
  return (
    <div>
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        defaultValue={value}
        placeholder={hint}
        autocomplete="off"
        spellcheck={false}
      />
    </div>
  );
}

interface FoundProps {
  readonly page: Page;
  readonly filter: Filter;
  readonly isFirst: boolean;
}

function Found({ page, filter, isFirst }: FoundProps) {
  const { requests, next, hint } = page;
  if (requests.length === 0) {
    return (
      <Empty>
        <h2>No requests</h2>
        <p class="sentence">
          {hint === null
            ? 'Nothing in the log matches. Choose a longer period, or clear the filter.'
            : hint}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <Rows rows={requests} />
      <nav class="pages" aria-label="Pages">
        {!isFirst && <Link to={address('trail', filter)}>Newest</Link>}
        {next !== null && <Link to={address('trail', { ...filter, after: next })}>Older</Link>}
      </nav>
    </>
  );
}

function Rows({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Time (UTC)</th>
          <th scope="col">Who</th>
          <th scope="col">Operation</th>
          <th scope="col">Object</th>
          <th scope="col">Decision</th>
          <th scope="col">Rule</th>
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number">
            Sent
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <RequestRow key={row.decision_id} row={row} />
        ))}
      </tbody>
    </table>
  );
}

function RequestRow({ row }: { readonly row: Row }) {
  const to = address(`request/${row.decision_id}`, { began: row.began });
  return (
    <tr>
      <td data-label="Time">
        <Link to={to} class="mono">
          {time(row.began)}
        </Link>
      </td>
      <td data-label="Who" class="caller">
        {row.subject ?? <span class="faint">nobody known</span>}
      </td>
      <td data-label="Operation" class="whole">
        {row.operation ?? '–'}
      </td>
      <td data-label="Object" class="mono cut" title={row.object ?? ''}>
        {row.object ?? '–'}
      </td>
      <td data-label="Decision" class="whole">
        <span>
          <Decision value={row.decision} />{' '}
          <span class="faint">{row.phase === 'attempt' ? 'no outcome' : row.status}</span>
          {row.review && <Reviewed state={row.review.mark} />}
        </span>
      </td>
      <td data-label="Rule" class="mono rule">
        {row.rule ?? '–'}
      </td>
      <td data-label="Took" class="number">
        {duration(row.duration_us)}
      </td>
      <td data-label="Sent" class="number">
        {bytes(row.bytes_out)}
      </td>
    </tr>
  );
}

/** Requests that a live view shows at most. */
const MOST_LIVE = 200;
const AGAIN_MILLIS = 3000;

function LiveRows({ filter }: { readonly filter: Filter }) {
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [fault, setFault] = useState<string | undefined>();
  const path = address('follow', { ...filter, since: '', until: '' });
  useEffect(() => {
    const ending = new AbortController();
    void follow(path, ending.signal, {
      row: (row) => setRows((before) => [row, ...before].slice(0, MOST_LIVE)),
      fault: setFault,
    });
    return () => ending.abort();
  }, [path]);
  return (
    <>
      <p role="status" class="live">
        {fault ?? `Following: ${count(rows.length)} new`}
      </p>
      {rows.length === 0 ? (
        <Empty>
          <p>Requests appear here as they end.</p>
        </Empty>
      ) : (
        <Rows rows={rows} />
      )}
    </>
  );
}

interface Follower {
  readonly row: (row: Row) => void;
  readonly fault: (sentence: string | undefined) => void;
}

/** Follows until the signal; begins again when the service ends the answer. */
async function follow(path: string, signal: AbortSignal, follower: Follower): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const row of lines<Row>(path, signal)) {
        follower.fault(undefined);
        follower.row(row);
      }
    } catch (error) {
      if (signal.aborted) return;
      follower.fault(error instanceof Error ? error.message : String(error));
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLIS));
  }
}

const FACETS: readonly (readonly [TrafficKey, keyof Filter, string])[] = [
  ['decision', 'decision', 'Decisions'],
  ['subject', 'subject', 'Who'],
  ['operation', 'operation', 'Operations'],
  ['object', 'object', 'Objects'],
  ['rule', 'text', 'Rules'],
  ['backend', 'backend', 'Backends'],
];
const MOST_OF_FACET = 6;

function Facets({ filter }: { readonly filter: Filter }) {
  const { text: _text, column: _column, review: _review, canary: _canary, ...counted } = filter;
  const traffic = useApi<Traffic>(address('traffic', counted));
  // The list says what is wrong with the filter.
  if (traffic.error?.status === 400) return null;
  return (
    <aside class="side" aria-label="Counts">
      <StateOf of={traffic} what="counts">
        {({ values, total }) => (
          <>
            <p class="total">
              <strong>{count(total.requests)}</strong> requests with an outcome
            </p>
            {FACETS.filter(([key]) => values[key].length > 0).map(([key, name, title]) => (
              <section key={key}>
                <h2>{title}</h2>
                <ul>
                  {values[key].slice(0, MOST_OF_FACET).map(({ value, requests }) => (
                    <li key={value}>
                      {value === null ? (
                        <span class="faint">none</span>
                      ) : (
                        <Link to={address('trail', { ...filter, [name]: value })} title={value}>
                          {value}
                        </Link>
                      )}
                      <span class="number">{count(requests)}</span>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
          </>
        )}
      </StateOf>
    </aside>
  );
}
