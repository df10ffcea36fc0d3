import { useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { count, time } from '../format.ts';
import type { CheckedPast } from '../policy-types.ts';
import { address, go, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import { RuleLink } from './rights.tsx';

interface PastCommitsProps {
  /** The table that is checked; empty for none. */
  readonly table: string;
  readonly since: string;
}

/** Past commits of a table that the rules in force would refuse. */
export function PastCommits({ table, since }: PastCommitsProps) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    go(address('rules', { since, table: fieldOf(data, 'table') }));
  };
  return (
    <section aria-label="Check of past commits">
      <h2>Would the rules have refused past commits?</h2>
      <form class="filters check" onSubmit={submit}>
        <div class="long">
          <label for="table">Table</label>
          <input
            id="table"
            name="table"
            key={table}
            defaultValue={table}
            placeholder="/prod/sales"
            required
            spellcheck={false}
          />
        </div>
        <div class="submit">
          <button type="submit">Check its commits</button>
        </div>
      </form>
      {table !== '' && <Checked key={table} table={table} />}
    </section>
  );
}

function Checked({ table }: { readonly table: string }) {
  const checked = useApi<CheckedPast>(address('commits/check', { object: table }));
  return (
    <StateOf of={checked} what="past commits, which may take a minute,">
      {({ rules, commits, refused, unjudged, total }) => (
        <>
          <p class="total">
            {rules.length === 0 ? (
              <>No commit rule is about {table}.</>
            ) : (
              <>
                <strong>{count(total.refused)}</strong> of {count(commits)} commits of{' '}
                <Link to={address('catalog', { table })}>{table}</Link> would be refused by{' '}
                {rules.join(', ')}; {count(total.unjudged)} cannot be judged.
              </>
            )}
          </p>
          {rules.length > 0 && refused.length + unjudged.length === 0 && (
            <Empty>
              <p>Every commit keeps the rules.</p>
            </Empty>
          )}
          {refused.length + unjudged.length > 0 && (
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">Version</th>
                  <th scope="col">When (UTC)</th>
                  <th scope="col">Result</th>
                  <th scope="col">Rule</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {[...refused, ...unjudged].map((one, at) => (
                  <tr key={`${one.branch} ${one.version} ${one.rule} ${at}`}>
                    <td data-label="Version">
                      {one.version}
                      {one.branch !== 'main' && ` on ${one.branch}`}
                    </td>
                    <td data-label="When (UTC)">{time(one.time).slice(0, 19)}</td>
                    <td data-label="Result">
                      <span class={`decision ${at < refused.length ? 'deny' : 'other'}`}>
                        {at < refused.length ? 'refused' : 'not judged'}
                      </span>
                    </td>
                    <td data-label="Rule">
                      {one.rule ?? '–'} {one.place !== null && <RuleLink rule={one.place} />}
                    </td>
                    <td data-label="Why">{one.fault}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </>
      )}
    </StateOf>
  );
}
