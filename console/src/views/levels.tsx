import { useApi } from '../api.ts';
import { count, duration } from '../format.ts';
import type { LimitLevels } from '../policy-types.ts';
import { address } from '../router.tsx';
import { StateOf } from '../states.tsx';
import type { Traffic } from '../types.ts';

/** Callers whose counters are read. */
const MOST = 50;

/** Rates that are in use now, of the most frequent callers of the last hour. */
export function Levels() {
  const traffic = useApi<Traffic>(address('traffic', { since: '1h' }));
  return (
    <section class="card" aria-label="In use now">
      <h2>In use now</h2>
      <StateOf of={traffic} what="callers">
        {({ values }) => (
          <Read
            subjects={values.subject
              .flatMap(({ value }) => (value?.startsWith('user:') === true ? [value] : []))
              .slice(0, MOST)}
          />
        )}
      </StateOf>
    </section>
  );
}

function Read({ subjects }: { readonly subjects: readonly string[] }) {
  const query = new URLSearchParams(subjects.map((name) => ['subject', name]));
  const levels = useApi<LimitLevels>(`limits/levels?${query}`);
  return (
    <>
      <StateOf of={levels} what="counters">
        {({ levels: found }) => (
          <>
            {found.length === 0 && (
              <p class="faint">
                No rate is in use: every counter of the callers of the last hour is full.
              </p>
            )}
            <ul class="plain spaced">
              {found.map(({ limit, value, left, burst, full_ms }) => (
                <li key={`${limit} ${value}`}>
                  <strong>{limit}</strong> {value}{' '}
                  <span class="faint">
                    {count(left)} of {count(burst)} left, full in {duration(full_ms * 1000)}
                  </span>
                  <meter min={0} max={burst} value={burst - left} aria-label={`${limit} ${value}`}>
                    {count(burst - left)} of {count(burst)} used
                  </meter>
                </li>
              ))}
            </ul>
          </>
        )}
      </StateOf>
      <button type="button" onClick={levels.reload}>
        Read again
      </button>
    </>
  );
}
