import { useApi } from '../api.ts';
import { count, duration } from '../format.ts';
import type { LimitLevels } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { StateOf } from '../states.tsx';

/** What the limits of the configuration bound; those of `limits.yaml` have names of their own. */
const ABOUT: Readonly<Record<string, string>> = {
  'limits.scans': 'queries and counts at once, in one process',
  'limits.failed_identifications': 'wrong credentials',
};

/** The counters of limits that are in use now, of callers, groups, credentials, addresses, operations and objects. */
export function Levels() {
  const levels = useApi<LimitLevels>('limits/levels');
  return (
    <section class="card" aria-label="In use now">
      <h2>In use now</h2>
      <StateOf of={levels} what="counters">
        {({ levels: found, total }) => (
          <>
            {found.length === 0 && (
              <p class="faint">
                No limit is in use: every rate is whole, and no request that is limited is in
                flight.
              </p>
            )}
            <ul class="plain spaced">
              {found.map((level) => (
                <li key={`${level.limit} ${level.value}`}>
                  <Counter {...level} />
                </li>
              ))}
            </ul>
            {total > found.length && (
              <p class="faint">
                The {count(found.length)} fullest of {count(total)} counters are shown.
              </p>
            )}
          </>
        )}
      </StateOf>
      <button type="button" onClick={levels.reload}>
        Read again
      </button>
    </section>
  );
}

type Level = LimitLevels['levels'][number];

function Counter({ limit, value, left, burst, full_ms, in_flight, concurrency }: Level) {
  const name = `${limit} ${value}`;
  return (
    <>
      <strong>{limit}</strong> <Counted value={value} />{' '}
      {ABOUT[limit] !== undefined && <span class="faint">{ABOUT[limit]}: </span>}
      {left !== null && burst !== null && (
        <>
          <span class="faint">
            {count(left)} of {count(burst)} left, full in {duration(full_ms * 1000)}
          </span>
          <Used name={name} used={burst - left} most={burst} />
        </>
      )}
      {in_flight !== null && concurrency !== null && (
        <>
          <span class="faint">
            {count(in_flight)} of {count(concurrency)} in flight
          </span>
          <Used name={`${name} in flight`} used={in_flight} most={concurrency} />
        </>
      )}
    </>
  );
}

/** Filters of the trail by the kind of a counter. */
const FILTERS: Readonly<Record<string, string>> = {
  user: 'subject',
  object: 'object',
  operation: 'operation',
  address: 'text',
  key: 'text',
};

/** What is counted, with its requests where the trail finds them. */
function Counted({ value }: { readonly value: string }) {
  const [kind = '', ...rest] = value.split(':');
  const filter = FILTERS[kind];
  if (filter === undefined) return <>{value === 'all' ? 'all requests' : value}</>;
  return <Link to={address('trail', { since: '1h', [filter]: rest.join(':') })}>{value}</Link>;
}

interface UsedProps {
  readonly name: string;
  readonly used: number;
  readonly most: number;
}

function Used({ name, used, most }: UsedProps) {
  return (
    <meter min={0} max={most} value={used} aria-label={name}>
      {count(used)} of {count(most)} used
    </meter>
  );
}
